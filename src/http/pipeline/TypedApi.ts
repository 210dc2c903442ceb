/** The typed API of a surface: finds the endpoint of a request by its table, and sends it through the pipeline. */
import { Clock, Effect } from "effect"
import { Identifiers } from "../../actors/ports/Identifiers.js"
import { NotFound } from "../../domain/Failure.js"
import { rateHeaders } from "../Rates.js"
import { methodRow } from "../Surface.js"
import { pathOf, type RawReply, type RawRequest, type RequestHead } from "../Wire.js"
import { Runners, runnerName } from "./Dispatch.js"
import type { make as makePipeline, SurfaceRules } from "./Pipeline.js"
import { makeMatcher, type Route } from "./Routes.js"

type Pipeline = Effect.Effect.Success<typeof makePipeline>

const handlerOf = ({ group, name }: Route): string => runnerName(group, name)

/** `elsewhere`: routes whose requests do not come here, but whose paths exist. */
export const make = (
  { identify, serve }: Pick<Pipeline, "identify" | "serve">,
  rules: SurfaceRules,
  routes: ReadonlyArray<Route>,
  elsewhere: ReadonlyArray<Route> = []
) =>
  Effect.gen(function* () {
    const identifiers = yield* Identifiers
    const runners = yield* Runners
    const match = makeMatcher([...routes, ...elsewhere])
    const without = routes.filter((route) => !runners.has(handlerOf(route)))
    if (without.length > 0)
      return yield* Effect.dieMessage(`endpoints without a handler: ${without.map(handlerOf).join(", ")}`)

    /** To a request that no route was found for. */
    const refusal = (reply: (requestId: string, now: number) => RawReply): Effect.Effect<RawReply> =>
      Effect.map(Clock.currentTimeMillis, (now) => {
        const requestId = identifiers.next("req")
        const refused = reply(requestId, now)
        return { ...refused, headers: { "x-request-id": requestId, ...rateHeaders(null, now), ...refused.headers } }
      })

    const unknown = () => refusal((requestId, now) => rules.failure(new NotFound({ what: "path" }), requestId, now))

    const otherMethod = (methods: ReadonlyArray<string>) =>
      refusal((requestId) => {
        const allow = methods.join(", ")
        const reply = rules.error(methodRow(methods), requestId)
        return { ...reply, headers: { ...reply.headers, allow } }
      })

    return {
      handle: (request: RawRequest): Effect.Effect<RawReply> => {
        const found = match(request.method, pathOf(request.target))
        if (found._tag === "OtherMethod") return otherMethod(found.methods)
        if (found._tag === "Unknown") return unknown()
        const run = runners.get(handlerOf(found.route))
        return run === undefined ? unknown() : serve({ rules, route: found.route, params: found.params, request }, run)
      },
      /** Whose request it is, by its head. */
      identify: (request: RequestHead) => {
        const found = match(request.method, pathOf(request.target))
        return identify(rules, request, found._tag === "Found" && found.route.openWhileSuspended)
      }
    }
  })
