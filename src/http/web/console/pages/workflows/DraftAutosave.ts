/**
 * Saves a workflow's draft as it is typed: two seconds after the last key, one save at a time, each with the version that it is
 * based on. What is not acknowledged is kept by the browser. A draft that somebody else has changed is never overwritten: both
 * texts are shown, and the person chooses.
 */
import { ApiError, type ApiSchemas } from "../../api/Client.js"
import { bodyOfText, draftText, isTextOf } from "./draftText.js"
import type { KeptTexts } from "./KeptTexts.js"

type Workflow = ApiSchemas["Workflow"]

/** What has become of the text that is shown. */
export type DraftStatus =
  | { readonly kind: "saved" }
  /** The save follows when the typing pauses. */
  | { readonly kind: "changed" }
  | { readonly kind: "saving" }
  /** The text is no JSON that can be saved: only the browser keeps it. */
  | { readonly kind: "unreadable"; readonly message: string }
  /** The service refuses it as it is; it is tried again when it changes. */
  | { readonly kind: "refused"; readonly error: ApiError }
  /** The service was not reached, or failed: it is tried again. */
  | { readonly kind: "retrying"; readonly error: ApiError }
  /** Somebody else has changed the draft since. */
  | { readonly kind: "conflict"; readonly theirs: Workflow }

export interface DraftState {
  readonly text: string
  /** Changes when the text is replaced by another one than what was typed. */
  readonly revision: number
  readonly status: DraftStatus
  /** What the service answered last. */
  readonly workflow: Workflow
  /** Somebody else has saved another draft, while nothing is typed here. */
  readonly newer: Workflow | undefined
  /** The browser has no space for texts that are not saved. */
  readonly isKept: boolean
}

/** The service, as far as drafts need it. */
export interface DraftService {
  readonly read: () => Promise<Workflow>
  readonly save: (body: { readonly code: string } | { readonly spec: unknown }, version: number) => Promise<Workflow>
}

const pauseMillis = 2_000
const keepMillis = 250
const retryMillis = [2_000, 5_000, 10_000, 30_000]

const isMismatch = (error: ApiError): boolean => error.status === 412 || error.code === "VERSION_MISMATCH"
const mayRetry = ({ status }: ApiError): boolean => status === 0 || status === 401 || status === 429 || status >= 500

/** Somebody else has changed the draft since it was read here. */
class DraftChanged extends ApiError {
  constructor(readonly theirs: Workflow) {
    super(
      409,
      { code: "VERSION_MISMATCH", message: "Somebody else has changed the draft meanwhile: the editor shows it." },
      ""
    )
  }
}

export class DraftAutosave {
  private state: DraftState
  /** The text that the service has, and its version and hash. */
  private savedText: string
  private version: number
  private hash: string
  /** The text of a save without an answer, which may have arrived. */
  private sentText: string | undefined
  private failures = 0
  private timer: ReturnType<typeof setTimeout> | undefined
  private keepTimer: ReturnType<typeof setTimeout> | undefined
  /** Changes of the record run one after the other. */
  private queue: Promise<unknown> = Promise.resolve()
  private isQueued = false
  private readonly listeners = new Set<() => void>()

  constructor(
    workflow: Workflow,
    private readonly service: DraftService,
    private readonly kept: KeptTexts
  ) {
    this.savedText = draftText(workflow)
    this.version = workflow.version
    this.hash = workflow.draft.contentHash
    this.state = {
      text: this.savedText,
      revision: 0,
      status: { kind: "saved" },
      workflow,
      newer: undefined,
      isKept: true
    }
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener)
    return () => this.listeners.delete(listener)
  }
  readonly snapshot = (): DraftState => this.state

  /** What is typed. */
  type(text: string): void {
    if (text === this.state.text) return
    this.set({ text })
    clearTimeout(this.keepTimer)
    this.keepTimer = setTimeout(() => this.keep(), keepMillis)
    if (this.state.status.kind === "conflict") return
    this.failures = 0
    this.set({ status: { kind: "changed" } })
    this.schedule(pauseMillis)
  }

  /** Puts another text into the editor, and saves it. */
  replace(text: string): void {
    this.set({ revision: this.state.revision + 1 })
    this.type(text)
    this.keep()
  }

  /** Saves at once what waits. */
  flush(): void {
    this.keep()
    const { kind } = this.state.status
    if (kind === "changed" || kind === "retrying") this.schedule(0)
  }

  /** Learns what the service has, as of a read. Nothing is replaced here that was typed. */
  adopt(workflow: Workflow): void {
    if (workflow.version <= this.version || this.isQueued) return
    if (workflow.draft.contentHash === this.hash) {
      this.version = workflow.version
      this.set({ workflow })
    } else if (this.state.text === this.savedText) this.set({ newer: workflow })
    // Else the next save finds out.
  }

  /** Shows what somebody else has saved. */
  take(theirs: Workflow): void {
    this.accept(theirs, draftText(theirs))
    this.set({ text: this.savedText, revision: this.state.revision + 1, newer: undefined, status: { kind: "saved" } })
    this.kept.remove()
  }

  /** Saves `text` over what somebody else has saved, which the service keeps among the earlier drafts. */
  overwrite(theirs: Workflow, text: string): void {
    this.accept(theirs, draftText(theirs))
    const isTyped = text === this.state.text
    this.set({
      text,
      newer: undefined,
      status: { kind: "changed" },
      ...(isTyped ? {} : { revision: this.state.revision + 1 })
    })
    this.keep()
    this.schedule(0)
  }

  /** Changes another part of the record, after saves that run, with the version that is then current. */
  change(change: (version: number) => Promise<Workflow>): Promise<Workflow> {
    return this.enqueue(async () => {
      const workflow = await this.withCurrentVersion(change).catch((cause: unknown) => {
        if (cause instanceof DraftChanged) this.showChanged(cause.theirs)
        throw cause
      })
      const wasSaved = this.state.text === this.savedText
      const isOther = workflow.draft.contentHash !== this.hash
      this.accept(workflow, isOther ? draftText(workflow) : this.savedText)
      // A change of the draft itself, such as a restored one.
      if (isOther && wasSaved)
        this.set({ text: this.savedText, revision: this.state.revision + 1, status: { kind: "saved" } })
      return workflow
    })
  }

  private set(part: Partial<DraftState>): void {
    this.state = { ...this.state, ...part }
    for (const listener of this.listeners) listener()
  }

  private accept(workflow: Workflow, text: string): void {
    this.version = workflow.version
    this.hash = workflow.draft.contentHash
    this.savedText = text
    this.set({ workflow })
  }

  private showChanged(theirs: Workflow): void {
    if (this.state.text === this.savedText) this.set({ newer: theirs })
    else this.set({ status: { kind: "conflict", theirs } })
  }

  private keep(): void {
    clearTimeout(this.keepTimer)
    const isSaved = this.state.text === this.savedText
    this.set({ isKept: isSaved ? this.kept.remove() : this.kept.put(this.state.text, this.hash) })
  }

  private schedule(millis: number): void {
    clearTimeout(this.timer)
    this.timer = setTimeout(() => void this.enqueue(() => this.saveText()), millis)
  }

  private enqueue<Value>(work: () => Promise<Value>): Promise<Value> {
    const done = this.queue.then(async () => {
      this.isQueued = true
      try {
        return await work()
      } finally {
        this.isQueued = false
      }
    })
    this.queue = done.catch(() => undefined)
    return done
  }

  /** Tries once more with the newer version if only other parts of the record have changed. */
  private async withCurrentVersion(change: (version: number) => Promise<Workflow>): Promise<Workflow> {
    try {
      return await change(this.version)
    } catch (cause) {
      if (!(cause instanceof ApiError) || !isMismatch(cause)) throw cause
      const now = await this.service.read()
      // A save whose answer was lost is no change of somebody else.
      if (this.sentText !== undefined && isTextOf(this.sentText, now)) this.accept(now, this.sentText)
      if (now.draft.contentHash !== this.hash) throw new DraftChanged(now)
      this.version = now.version
      return await change(now.version)
    }
  }

  private async saveText(): Promise<void> {
    const { text, workflow } = this.state
    if (this.state.status.kind === "conflict") return
    if (text === this.savedText) {
      this.set({ status: { kind: "saved" } })
      this.keep()
      return
    }
    const body = bodyOfText(workflow.form, text)
    if (body instanceof Error) return this.set({ status: { kind: "unreadable", message: body.message } })
    this.set({ status: { kind: "saving" } })
    try {
      const saved = await this.withCurrentVersion((version) => {
        const saved = this.service.save(body, version)
        this.sentText = text
        return saved
      })
      this.accept(saved, text)
      this.failures = 0
      // Typed meanwhile: its own timer saves it.
      this.set({ status: { kind: this.state.text === text ? "saved" : "changed" } })
      this.keep()
    } catch (cause) {
      this.fail(cause)
    }
  }

  private fail(cause: unknown): void {
    if (cause instanceof DraftChanged) return this.showChanged(cause.theirs)
    const error = cause instanceof ApiError ? cause : new ApiError(0, undefined, String(cause))
    this.keep()
    if (!mayRetry(error)) return this.set({ status: { kind: "refused", error } })
    this.set({ status: { kind: "retrying", error } })
    const wait = retryMillis[Math.min(this.failures, retryMillis.length - 1)] ?? pauseMillis
    this.failures += 1
    this.schedule(wait)
  }
}
