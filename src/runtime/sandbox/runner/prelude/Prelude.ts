/**
 * The script that every guest loads first. It is text instead of functions, so that no bundler can change it: its exact
 * characters are part of the engine's identity, which matches journals to engines. It evaluates to an array of functions
 * that a workflow cannot reach: `step`, `take`, `load`, `nextComputation`, `computationDone`.
 */
import { Duration } from "effect"
import { guest } from "../../../../domain/Limits.js"
import { maxStepBytes } from "../OutputSize.js"
import { core } from "./Core.js"
import { fetchSource } from "./Fetch.js"
import { hashSource } from "./Hash.js"
import { svc } from "./Svc.js"
import { text } from "./Text.js"
import { time } from "./Time.js"
import { url } from "./Url.js"

const limits = {
  logLine: guest.logLine,
  logLines: guest.logLines,
  /** Characters of an error's message, its stack, and its further members as JSON. */
  message: 16_384,
  stack: 8_192,
  errorData: 262_144,
  fetchBytes: guest.fetchBytes,
  timer: Duration.toMillis(guest.timer),
  /** Characters of all outputs of one step. */
  outbox: maxStepBytes
}

/** Names of the engine that a workflow may not have: what they do cannot be replayed, or has no meaning here. */
const removed = [
  "SharedArrayBuffer",
  "Atomics",
  "WeakRef",
  "FinalizationRegistry",
  "performance",
  "WebAssembly",
  "navigator"
]

export const prelude = `"use strict";(() => {
const limits = Object.freeze(${JSON.stringify(limits)})
${removed.map((name) => `delete globalThis.${name}`).join("\n")}
${core}${time}${svc}${text}${url}${hashSource}${fetchSource}
return [step, take, load, nextComputation, computationDone]
})()`
