// The token that a server may ask for: typed once, kept until the tab is closed.

const KEY = "voxring-token";

/** @returns {string} "" if there is none */
export function knownToken() {
  return sessionStorage.getItem(KEY) ?? "";
}

/**
 * Ask the person for it.
 * @param {string} reason why it is asked for again; "" the first time
 * @returns {Promise<string>} "" if there is none to be had
 */
export function askForToken(reason) {
  const dialog = document.getElementById("token-dialog");
  const field = document.getElementById("token");
  document.getElementById("token-reason").textContent = reason;
  field.value = "";
  dialog.returnValue = "";
  document.getElementById("token-cancel").onclick = () => dialog.close();
  dialog.showModal();
  field.focus();
  return new Promise((resolve) => {
    const closed = () => {
      const token = dialog.returnValue === "connect" ? field.value.trim() : "";
      field.value = "";
      if (token) sessionStorage.setItem(KEY, token);
      resolve(token);
    };
    dialog.addEventListener("close", closed, { once: true });
  });
}

/** It was refused. */
export function forgetToken() {
  sessionStorage.removeItem(KEY);
}
