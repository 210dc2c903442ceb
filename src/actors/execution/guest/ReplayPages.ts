/**
 * The pages of one run's replay on their way to its guest. While the guest works on a page the next one is read, if the node
 * has room for it at that moment: a replay that holds a page must not wait for memory that others hold.
 */
import { Cause, Effect, Exit, Fiber, FiberId, Option } from "effect"
import type { IndexedCall } from "../../../domain/run/RunJournal.js"
import type { JournalUnavailable } from "../../ports/run/Journal.js"
import type { GuestSession } from "../../ports/run/Sandbox.js"
import type { ReplayedResult } from "../machine/Messages.js"

type Page = ReadonlyArray<IndexedCall>
type Results = ReadonlyArray<ReplayedResult>
type Reading = Effect.Effect<Option.Option<Results>, JournalUnavailable>
type ReadingFiber = Fiber.RuntimeFiber<Option.Option<Results>, JournalUnavailable>

/**
 * Reads the results of a page. `hold`: called with what gives their memory back. `waits`: for room, as long as it takes;
 * otherwise the answer is none if there is no room now.
 */
type ReadPage = (page: Page, hold: (release: () => void) => void, waits: boolean) => Reading

const nothing = (): void => undefined

export class ReplayPages {
  /** Gives back what the guest's page takes of the memory. */
  private release = nothing
  /** The page after the one that was read last. */
  private next: Page | undefined
  /** The page that is read while the guest works. */
  private ahead: { readonly page: Page; readonly fiber: ReadingFiber; readonly release: () => void } | undefined

  constructor(
    private readonly read: ReadPage,
    private readonly fork: (reading: Reading) => ReadingFiber
  ) {}

  /** The results of a page, which are held until `endPage`. `next`: the page after it. */
  open(page: Page, next: Page | undefined): Effect.Effect<Results, JournalUnavailable> {
    return Effect.suspend(() => {
      this.next = next
      const { ahead } = this
      if (ahead?.page === page) return Effect.flatMap(Fiber.await(ahead.fiber), (exit) => this.take(page, exit))
      this.dropAhead()
      return this.readNow(page)
    })
  }

  /**
   * The guest gets its page: begins to read the next one once that has been sent, since reading would keep it from being
   * sent.
   */
  readAhead(guest: Pick<GuestSession, "whenSent"> | undefined): void {
    const { next } = this
    if (next === undefined) return
    guest?.whenSent(() => {
      if (this.next === next) this.beginReading(next)
    })
  }

  private beginReading(next: Page): void {
    this.next = undefined
    let release = nothing
    const fiber = this.fork(this.read(next, (held) => void (release = held), false))
    this.ahead = { page: next, fiber, release: () => release() }
  }

  /** The guest has taken its page. */
  endPage(): void {
    this.release()
    this.release = nothing
  }

  /** Reads nothing more. */
  drop(): void {
    this.endPage()
    this.next = undefined
    this.dropAhead()
  }

  private dropAhead(): void {
    this.ahead?.fiber.unsafeInterruptAsFork(FiberId.none)
    this.ahead?.release()
    this.ahead = undefined
  }

  /** Takes the page that was read ahead. If there was no room for it, or the journal could not be read, it is read now. */
  private take(page: Page, exit: Exit.Exit<Option.Option<Results>, JournalUnavailable>) {
    const { ahead } = this
    if (ahead?.page !== page) return Effect.interrupt
    if (Exit.isFailure(exit) && Cause.isDie(exit.cause)) return Effect.failCause(exit.cause)
    if (Exit.isFailure(exit) || Option.isNone(exit.value)) {
      this.dropAhead()
      return this.readNow(page)
    }
    this.ahead = undefined
    this.release = ahead.release
    return Effect.succeed(exit.value.value)
  }

  private readNow(page: Page): Effect.Effect<Results, JournalUnavailable> {
    const hold = (release: () => void): void => void (this.release = release)
    return Effect.map(
      this.read(page, hold, true),
      Option.getOrElse((): Results => [])
    )
  }
}
