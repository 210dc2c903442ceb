/**
 * The script that every guest loads first. It is text instead of functions, so that no bundler can change it: its exact
 * characters are part of the engine's identity, which matches journals to engines. It evaluates to an array of functions
 * that a workflow cannot reach: `step`, `take`, `load`, `nextComputation`, `computationDone`.
 */
import { Duration } from "effect"
import { guest } from "../../../../domain/Limits.js"
import { maxStepBytes } from "../OutputSize.js"
// Prelude, part 1: the base of all other parts, and the protocol. It captures the built-ins that it needs before any code
// of the workflow runs, and afterwards uses nothing that such code can change: no array methods, no iteration, no property
// of an object that has a prototype. The outbox is text: each output is serialised when it is made.
import core from "./Core.guest.js"
// Prelude, part 7: fetch over the host call `fetch`. Bodies are complete values, in both directions. Every fetch passes
// here, interpreted: the URL and the headers are handed over as the workflow wrote them, since the host checks and
// normalises them in a hundredth of the time, and the parts of a response are made when they are read.
import fetch from "./Fetch.guest.js"
// Prelude, part 6: the SHA family and HMAC behind crypto.subtle. The runner computes them within the same step, so they
// are not journaled.
import hash from "./Hash.guest.js"
// Prelude, part 3: "svc" and the console. A host call's name is its property path.
import svc from "./Svc.guest.js"
// Prelude, part 4: UTF-8, base64 and `structuredClone`, built on the engine's native escape() and related functions.
import text from "./Text.guest.js"
// Prelude, part 2: time that advances only with events, random numbers from a seed, and timers as host calls.
import time from "./Time.guest.js"
// Prelude, part 5: URL and URLSearchParams after the WHATWG standard, with its parts split by hand instead of by the
// standard's state machine. Left out: names that need Unicode normalisation beyond lower case (they are punycoded).
import url from "./Url.guest.js"

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

${[core, time, svc, text, url, hash, fetch].join("\n")}
return [step, take, load, nextComputation, computationDone]
})()`
