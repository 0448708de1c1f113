// Whether the server has a place for us, asked before the websocket: a browser cannot read why an
// upgrade was refused.

const DEADLINE_MS = 5000;

/** Why there is no way in now. */
export class Refusal extends Error {
  /**
   * @param {string} message for the person
   * @param {{retryAfterS?: number, needsToken?: boolean}} what may help
   */
  constructor(message, { retryAfterS = 0, needsToken = false } = {}) {
    super(message);
    this.retryAfterS = retryAfterS;
    this.needsToken = needsToken;
  }
}

/**
 * @param {URL} base of the page
 * @param {string} token "" if there is none
 * @returns {Promise<URL>} the address for one websocket
 * @throws {Refusal}
 */
export async function knock(base, token) {
  const health = await askHealth(base);
  if (health.token_required && !token) {
    throw new Refusal("This server asks for a token.", { needsToken: true });
  }
  const address = new URL("v1/voice", base);
  address.protocol = base.protocol === "https:" ? "wss:" : "ws:";
  if (token) address.searchParams.set("ticket", await askTicket(base, token));
  return address;
}

async function askHealth(base) {
  const response = await ask(new URL("health", base), {});
  const health = (await response.json().catch(() => null)) ?? {};
  const retryAfterS = Number(response.headers.get("Retry-After")) || 0;
  if (health.draining) throw new Refusal("The server is about to end.", { retryAfterS });
  if (health.ready === false) throw new Refusal("The server is not ready yet.", { retryAfterS });
  if (health.places === 0) {
    throw new Refusal("The server is full: all its places are taken.", { retryAfterS });
  }
  if (!response.ok) throw new Refusal(`The server answered ${response.status}.`, { retryAfterS });
  return health;
}

async function askTicket(base, token) {
  const headers = { Authorization: `Bearer ${token}` };
  const response = await ask(new URL("ticket", base), { method: "POST", headers });
  if (response.status === 401) throw new Refusal("This token is not valid.", { needsToken: true });
  if (response.status === 429) {
    const retryAfterS = Number(response.headers.get("Retry-After")) || 0;
    throw new Refusal("This token has too many conversations.", { retryAfterS });
  }
  if (!response.ok) throw new Refusal(`The server gave no ticket (${response.status}).`);
  const { ticket } = await response.json().catch(() => ({}));
  if (!ticket) throw new Refusal("The server gave no ticket.");
  return ticket;
}

async function ask(address, options) {
  try {
    const signal = AbortSignal.timeout(DEADLINE_MS);
    return await fetch(address, { ...options, cache: "no-store", signal });
  } catch {
    throw new Refusal("The server cannot be reached.");
  }
}
