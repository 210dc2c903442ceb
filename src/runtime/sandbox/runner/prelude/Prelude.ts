/**
 * The script that every guest loads first: JavaScript that is imported as text, so that no bundler can change it. Without
 * its comments and indentation it is part of the engine's identity, which matches journals to engines. It evaluates to an
 * array of functions that a workflow cannot reach: `step`, `take`, `load`, `nextComputation`, `computationDone`, `bring`.
 */
import { Duration } from "effect"
import { guest, traceValueBytes } from "../../../../domain/Limits.js"
import { maxStepBytes } from "../OutputSize.js"
import bodies from "./Bodies.guest.js"
import core from "./Core.guest.js"
import errors from "./Errors.guest.js"
import fetch from "./Fetch.guest.js"
import hash from "./Hash.guest.js"
import headers from "./Headers.guest.js"
import run from "./Run.guest.js"
import svc from "./Svc.guest.js"
import text from "./Text.guest.js"
import time from "./Time.guest.js"
import url from "./Url.guest.js"
import urlHost from "./UrlHost.guest.js"
import urlParser from "./UrlParser.guest.js"

const limits = {
  logLine: guest.logLine,
  logLines: guest.logLines,
  /** Characters of an error's message, its stack, and its further members as JSON. */
  message: 16_384,
  stack: 8_192,
  errorData: 262_144,
  fetchBytes: guest.fetchBytes,
  timer: Duration.toMillis(guest.timer),
  calls: guest.calls,
  /** Characters of the value of one step. */
  stepValue: traceValueBytes,
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

/** In the order of their evaluation: one scope, which none leaves. */
const parts = [core, errors, run, time, svc, text, urlHost, urlParser, url, hash, headers, bodies, fetch]

/** The program of a source, without what guests would only hold in memory: documentation, lines of comment, indentation. */
export const programOf = (source: string): string =>
  source.replaceAll(/\/\*\*[^]*?\*\/|^\s*\/\/.*$/gm, "").replaceAll(/^\s+/gm, "")

/** The sources as they are written. @internal */
export const source = parts.join("\n")

export const prelude = `"use strict";(() => {
const limits = Object.freeze(${JSON.stringify(limits)})
${removed.map((name) => `delete globalThis.${name}`).join("\n")}

${programOf(source)}return [step, take, load, nextComputation, computationDone, bring]
})()`
