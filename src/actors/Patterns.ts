/**
 * The patterns of conditions, compiled in computing workers when they are saved and when they are first needed after a
 * start. The main loop only matches them.
 */
import { Effect } from "effect"
import { type Condition, patternsOf } from "../domain/expression/Condition.js"
import { loadPattern, type PatternLookup } from "../domain/expression/PatternProgram.js"
import type { Unavailable } from "../domain/Failure.js"
import type { OrganisationId } from "../domain/Ids.js"
import { patternLimits } from "../domain/Limits.js"
import { makeFairPermits } from "../domain/share/FairPermits.js"
import { type CachedPattern, PatternCache } from "./PatternCache.js"
import { type CompiledPattern, Computations, tooCostlyDetail } from "./ports/Computations.js"
import { ShareOwners } from "./ports/organisation/ShareOwners.js"
import type { OrganisationOwner } from "../domain/share/ShareOwner.js"

type Entries = Map<string, CachedPattern>

const entryOf = (compiled: CompiledPattern): CachedPattern =>
  "program" in compiled ? { pattern: loadPattern(compiled.program) } : { mistake: compiled.mistake }

const make = Effect.gen(function* () {
  const { compute } = yield* Computations
  const shareOwners = yield* ShareOwners
  const cache = new PatternCache(patternLimits.cachedBytes)
  /** One load of an account at a time: later ones of an organisation find its patterns in the cache. */
  const loads = makeFairPermits(1)

  /** Compiles a batch; if that takes too long, one pattern after the other, to find the costly one. */
  const compileBatch = (
    organisation: OrganisationId,
    batch: ReadonlyArray<string>
  ): Effect.Effect<ReadonlyArray<CompiledPattern>, Unavailable> =>
    Effect.catchTag(compute("compilePatterns", organisation, batch), "TooCostly", (error) =>
      batch.length === 1
        ? Effect.succeed([{ mistake: tooCostlyDetail("", error).message }])
        : Effect.map(
            Effect.forEach(batch, (one) => compileBatch(organisation, [one])),
            (all) => all.flat()
          )
    )

  const compileMissing = Effect.fnUntraced(function* (owner: OrganisationOwner, asked: Iterable<string>) {
    const { organisation } = owner
    const found: Entries = new Map()
    const missing: Array<string> = []
    for (const pattern of asked) {
      const entry = cache.find(organisation, pattern)
      if (entry === undefined) missing.push(pattern)
      else found.set(pattern, entry)
    }
    for (let at = 0; at < missing.length; at += patternLimits.batch) {
      const batch = missing.slice(at, at + patternLimits.batch)
      const compiled = yield* compileBatch(organisation, batch)
      for (const [index, pattern] of batch.entries()) {
        const entry = entryOf(compiled[index] ?? { mistake: "is not a valid pattern" })
        cache.add(owner, pattern, entry)
        found.set(pattern, entry)
      }
    }
    return found
  })

  const load = (organisation: OrganisationId, asked: ReadonlySet<string>): Effect.Effect<Entries, Unavailable> =>
    Effect.flatMap(shareOwners.of(organisation), (owner) => loads.withPermit(owner, compileMissing(owner, asked)))

  const evaluate = <A>(
    organisation: OrganisationId,
    work: (patterns: PatternLookup) => A,
    loaded: Entries = new Map()
  ): Effect.Effect<A, Unavailable> =>
    Effect.suspend(() => {
      const missing = new Set<string>()
      const result = work((pattern) => {
        const entry = loaded.get(pattern) ?? cache.find(organisation, pattern)
        if (entry === undefined) missing.add(pattern)
        return entry !== undefined && "pattern" in entry ? entry.pattern : undefined
      })
      return missing.size === 0
        ? Effect.succeed(result)
        : Effect.flatMap(load(organisation, missing), (found) =>
            evaluate(organisation, work, new Map([...loaded, ...found]))
          )
    })

  return {
    /** Why patterns cannot be used; those that can are absent. */
    mistakes: (organisation: OrganisationId, patterns: Iterable<string>) =>
      Effect.map(load(organisation, new Set(patterns)), (entries) => {
        const found = new Map<string, string>()
        for (const [pattern, entry] of entries) if ("mistake" in entry) found.set(pattern, entry.mistake)
        return found
      }),
    /** The patterns of a condition. */
    ofCondition: (organisation: OrganisationId, condition: Condition | undefined) => {
      const patterns = condition === undefined ? new Set<string>() : patternsOf(condition)
      return evaluate(organisation, (find): PatternLookup => {
        const found = new Map(Array.from(patterns, (pattern) => [pattern, find(pattern)]))
        return (pattern) => found.get(pattern)
      })
    },
    /** The result of `work`, which runs again if it has asked for patterns that were not compiled yet. */
    evaluate: <A>(organisation: OrganisationId, work: (patterns: PatternLookup) => A) => evaluate(organisation, work)
  }
})

export class Patterns extends Effect.Service<Patterns>()("svc/Patterns", { effect: make }) {}
