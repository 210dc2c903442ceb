/**
 * Counts what clients keep open on a node for as long as they want, such as watches. Nobody can wait for a place, so one
 * account has at most half of them: the other half is for all others.
 */
import type { ShareOwner } from "./ShareOwner.js"

/** How many may be open of a caller and on a node. */
export interface OpenLimits {
  readonly ofCaller: number
  readonly ofNode: number
}

/** The limit that a further one would exceed. */
export interface OpenExcess {
  readonly of: "caller" | "account" | "node"
  readonly limit: number
}

/** Who opens something. `caller`: its name among the callers of the node. */
export interface Opener {
  readonly caller: string
  readonly owner: ShareOwner
}

export class OpenQuota {
  private readonly ofCallers = new Map<string, number>()
  private readonly ofAccounts = new Map<string, number>()
  private ofNode = 0

  constructor(private readonly limits: OpenLimits) {}

  /** Why the opener may have no further one; `undefined` if it may. */
  excess({ caller, owner }: Opener): OpenExcess | undefined {
    const { limits } = this
    const ofAccount = Math.floor(limits.ofNode / 2)
    if ((this.ofCallers.get(caller) ?? 0) >= limits.ofCaller) return { of: "caller", limit: limits.ofCaller }
    if ((this.ofAccounts.get(owner.account) ?? 0) >= ofAccount) return { of: "account", limit: ofAccount }
    return this.ofNode >= limits.ofNode ? { of: "node", limit: limits.ofNode } : undefined
  }

  /** Counts one that was opened, or closed. */
  count({ caller, owner }: Opener, by: 1 | -1): void {
    this.ofNode += by
    for (const [counts, name] of [
      [this.ofCallers, caller],
      [this.ofAccounts, owner.account]
    ] as const) {
      const left = (counts.get(name) ?? 0) + by
      if (left === 0) counts.delete(name)
      else counts.set(name, left)
    }
  }
}
