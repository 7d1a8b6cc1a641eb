/* Requests to the server. */
import { t } from "./texts.js";

export const key = { value: "" };

function headers() {
  return key.value ? { Authorization: `Bearer ${key.value}` } : {};
}

/** An answer of the server that says why not. */
export class Refused extends Error {}

async function answer(request) {
  let response;
  try {
    response = await request;
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Refused(t().unreachable);
  }
  const content = await response.json().catch(() => ({}));
  if (!response.ok) throw new Refused(content.error ?? `${response.status}`);
  return content;
}

export function get(path) {
  return answer(fetch(path, { headers: headers() }));
}

export function post(path, fields, signal) {
  const body = JSON.stringify(fields);
  return answer(fetch(path, { method: "POST", signal, headers: { "Content-Type": "application/json", ...headers() }, body }));
}

export function upload(path, form) {
  return answer(fetch(path, { method: "POST", headers: headers(), body: form }));
}

export function aborted(error) {
  return error.name === "AbortError";
}
