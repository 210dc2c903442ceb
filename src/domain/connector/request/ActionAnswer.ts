/**
 * Reads the answer of an action: its result, the place of the next page, and the digits of integers that no number of
 * JavaScript holds. Pure.
 */
import { Either } from "effect"
import { askedTexts } from "../../AskedTexts.js"
import { keepIntegers, type KeptIntegers } from "./ExactIntegers.js"
import type { Json } from "../../Json.js"
import type { Sliced } from "../../mapping/MapCost.js"
import type { ActionDefinition } from "../Action.js"
import { actionResult, isReadAsJson, mapResult } from "./ActionResult.js"
import { withoutPageMemory } from "./PageMemory.js"
import { nextPageArgs } from "./Pagination.js"
import { exactAnswerJson, mayHaveLargeIntegers, type ProviderAnswer, type ProviderFailure } from "./ProviderAnswer.js"

/** What an action answered. */
export interface ActionAnswer {
  /** Integers beyond 2^53 are texts where the action's schema says so, else rounded. */
  readonly result: Json
  /** The same with each of them as text: by it values are recognised again. */
  readonly exact: Json
  /** Those of the result that are rounded. */
  readonly rounded: KeptIntegers["rounded"]
  /** The arguments of the next page; `null`: there is none. */
  readonly next: Json | null
}

/** A request that was answered. */
export interface AnsweredRequest {
  readonly answer: ProviderAnswer
  readonly url: string
  /** Of the call, with the memory of the pages before. */
  readonly args: Json
}

/** Reads an answer. Yields where other work may go on. The other parameters are those of `actionResult`. */
export function* actionAnswer(
  definition: Parameters<typeof actionResult>[0],
  action: ActionDefinition,
  { answer, args, url }: AnsweredRequest,
  now: number,
  patterns: Parameters<typeof actionResult>[4]
): Sliced<Either.Either<ActionAnswer, ProviderFailure>> {
  const own = withoutPageMemory(args)
  const read = actionResult(definition, action, answer, now, patterns, own)
  if (Either.isLeft(read)) return Either.left(read.left)
  const plain = read.right
  const isLarge = isReadAsJson(action, answer) && mayHaveLargeIntegers(answer)
  if (isLarge) yield
  const body = isLarge ? exactAnswerJson(answer) : undefined
  const next = nextPageArgs(action, args, answer, url, body)
  if (Either.isLeft(next)) return Either.left(next.left)
  if (body === undefined) return Either.right({ result: plain, exact: plain, rounded: undefined, next: next.right })
  yield
  const exact = mapResult(action, answer, body, own)
  const kept = keepIntegers(plain, exact, askedTexts([action.outputSchema]))
  return Either.right({ result: kept.value, exact, rounded: kept.rounded, next: next.right })
}
