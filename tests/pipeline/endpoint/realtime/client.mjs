// One conversation of the official JavaScript client: node client.mjs BASE_URL SPEECH.pcm
// Prints what it was told, an object a line.
import { readFileSync } from 'node:fs';
import OpenAI from 'openai';
import { OpenAIRealtimeWS } from 'openai/realtime/ws';

const [baseURL, speech] = process.argv.slice(2);
const client = new OpenAI({ apiKey: 'unused', baseURL });
const rt = new OpenAIRealtimeWS({ model: 'gpt-realtime' }, client);
const waiting = new Map();
let bytes = 0;

function until(type) {
  return new Promise((resolve) => waiting.set(type, resolve));
}

function happened(type, event) {
  const resolve = waiting.get(type);
  waiting.delete(type);
  if (resolve) resolve(event);
}

rt.on('event', (event) => {
  if (event.type === 'response.output_audio.delta') {
    bytes += Buffer.from(event.delta, 'base64').length;
  } else {
    console.log(JSON.stringify(event));
  }
  happened(event.type, event);
});
rt.on('error', (error) => console.log(JSON.stringify({ type: 'caught', code: error.error?.code })));

await until('session.created');
const detection = { type: 'server_vad', silence_duration_ms: 256 };
rt.send({
  type: 'session.update',
  session: { type: 'realtime', audio: { input: { turn_detection: detection } } },
});
await until('session.updated');
const pcm = readFileSync(speech);
for (let at = 0; at < pcm.length; at += 4800) {
  rt.send({
    type: 'input_audio_buffer.append',
    audio: pcm.subarray(at, at + 4800).toString('base64'),
  });
}
await until('response.done');
console.log(JSON.stringify({ type: 'heard', bytes }));
rt.send({
  type: 'conversation.item.create',
  item: { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Hi' }] },
});
rt.send({ type: 'response.create', response: { output_modalities: ['text'] } });
await until('response.done');
rt.send({ type: 'nonsense' });
await until('error');
rt.close();
