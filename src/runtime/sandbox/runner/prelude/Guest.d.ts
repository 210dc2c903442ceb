/** What the parts of the prelude find in the engine beside ECMAScript, and the shapes that they share. */

/** Set by `Prelude.ts`. */
declare const limits: Readonly<
  Record<
    | "logLine"
    | "logLines"
    | "message"
    | "stack"
    | "errorData"
    | "fetchBytes"
    | "timer"
    | "calls"
    | "stepValue"
    | "outbox",
    number
  >
>
declare class InternalError extends Error {}
declare class DOMException extends Error {
  constructor(message: string, name: string)
}

/** A descriptor without a prototype reads none that a workflow has changed. */
interface PropertyDescriptor {
  __proto__?: null
}

interface ProxyHandler<T extends object> {
  __proto__?: null
}

/** The step whose failure ends a run with this value, and the stack that the run's error shows, if it is another one. */
interface FailedStep {
  readonly cause: unknown
  /** Its path, as a member of an output. */
  readonly step: string | undefined
  readonly stack: string | undefined
}

/** A host call that waits for its result. */
interface PendingCall {
  readonly resolve: (value: unknown) => void
  readonly reject: (cause: unknown) => void
  readonly convert?: (result: unknown) => unknown
  readonly place: Place | undefined
  /** It is not given up when its list is halted. */
  readonly isKept: boolean
}

/** Why a host call failed. */
interface HostFailure {
  readonly name: string
  readonly message: string
  readonly code?: string | number
  readonly data?: unknown
}

/** A complete body, as text or as bytes; `coded`: bytes that are still base64. */
interface BodyParts {
  text: string | null
  bytes: Uint8Array | null
  type: string | null
  coded?: string | undefined
}

/** A URL in its parts; the path of an opaque one is text. */
interface UrlRecord {
  scheme: string
  username: string
  password: string
  host: string | null
  port: string
  path: string | string[]
  query: string | null
  fragment: string | null
}

/** A list of steps, or a loop with its iterations, which halts as a whole, with all that stands in it. */
interface HaltScope {
  readonly parent: HaltScope | undefined
  /** Why it is halted. */
  closed: unknown
}

/** A step that makes host calls. */
interface Place {
  /** Its path, with the numbers of iterations: `sync[3].send`. */
  readonly path: string
  /** The list that it stands in; undefined outside of flows. */
  readonly scope: HaltScope | undefined
  /** Its calls that failed because it is closed. */
  refused: number
  /** Its host calls so far, in this attempt. */
  calls: number
  /** Further members of the output of its next call, as text. */
  more?: (() => string) | undefined
  /** Why it may make no more calls. */
  closed?: unknown
}
