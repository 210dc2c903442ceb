/**
 * What a run holds of its node's memory: the arguments of its calls until they have ended, and their answers until they
 * are fed to the guest and committed.
 */
import type { Effect } from "effect"
import { BriefSet } from "../../domain/BriefMap.js"
import type { ShareOwner } from "../../domain/share/ShareOwner.js"
import { type BytesRefused, type HeldBytes, type Holding, takeBytes } from "../ports/HeldBytes.js"

/** Arguments below this size cost less than the run itself. */
const smallBytes = 16 * 1024

/** What the answers to one call take of the memory, until `release`. */
export interface CallAnswer {
  readonly holding: Holding
  readonly release: () => void
}

/** The memory of one run, also over losses of its guest. */
export class RunMemory {
  private readonly answers = new BriefSet<Holding>()
  /** Opened when the run first has large arguments: most never do. */
  private arguments: Holding | undefined

  constructor(
    private readonly ledger: HeldBytes["Type"],
    private readonly owner: ShareOwner
  ) {}

  /** Counts the arguments of the calls that have not ended; waits for room if they became more, else is `undefined`. */
  holdArguments(size: number): Effect.Effect<void, BytesRefused> | undefined {
    const wanted = size < smallBytes ? 0 : size
    const more = wanted - (this.arguments?.bytes ?? 0)
    if (more < 0) this.arguments?.give(-more)
    if (more <= 0) return undefined
    this.arguments ??= this.ledger.open(this.owner, "results")
    return takeBytes(this.arguments, more)
  }

  /** A holding for the answers to one call. */
  openAnswer(): CallAnswer {
    const holding = this.ledger.open(this.owner, "answers")
    const forget = this.answers.add(holding)
    const release = (): void => {
      forget()
      holding.release()
    }
    return { holding, release }
  }

  /** Releases everything: the run has left this node, or begins its next attempt. */
  releaseAll(): void {
    this.arguments?.release()
    this.arguments = undefined
    for (const holding of this.answers.values()) holding.release()
    this.answers.clear()
  }
}
