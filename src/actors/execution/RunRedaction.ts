/** Redacts the secrets that a run has used from everything that is recorded of it. */
import { makeScrubber, type Scrubber } from "../../domain/access/Redaction.js"
import type { RunError } from "../../domain/run/Execution.js"
import { storable } from "./trace/Trace.js"

const emptyScrubber = makeScrubber([])

export class RunRedaction {
  scrub: Scrubber = emptyScrubber
  private readonly secrets = new Set<string>()
  private unfinished: Iterable<void> = []

  /** Redacts this value from what is recorded from now on, once the caller has taken all steps. */
  hide(secret: string): Iterable<void> {
    if (this.secrets.has(secret)) return []
    this.secrets.add(secret)
    if (this.scrub === emptyScrubber) this.scrub = makeScrubber([])
    const steps = this.scrub.hideInSteps(secret)[Symbol.iterator]()
    const left: IterableIterator<void> = { next: () => steps.next(), [Symbol.iterator]: () => left }
    this.unfinished = left
    return left
  }

  /** The steps that are left of a value whose hiding was given up: take them before the run's end is recorded. */
  get stepsLeft(): Iterator<void> {
    return this.unfinished[Symbol.iterator]()
  }

  /** The error with secrets redacted: its texts may come from the guest. */
  error(error: RunError): RunError {
    return {
      ...error,
      name: this.text(error.name),
      message: this.text(error.message),
      ...(error.code === undefined ? {} : { code: this.text(error.code) }),
      ...(error.stack === undefined ? {} : { stack: this.text(error.stack) }),
      ...(error.details === undefined ? {} : { details: storable(this.scrub.scrubJson(error.details)) })
    }
  }

  text(value: string): string {
    return String(storable(this.scrub.scrubText(value)))
  }
}
