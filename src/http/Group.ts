/** How handlers are given to the typed API: the library's own way, and the exchange knows when one of them began. */
// oxlint-disable-next-line no-restricted-imports -- The one place that uses it.
import { HttpApiBuilder, HttpServerRequest } from "@effect/platform"
import { Chunk, Effect } from "effect"
import { exchangeOf } from "./Exchange.js"

type Handled = HttpApiBuilder.Handlers<unknown, unknown, HttpServerRequest.HttpServerRequest>

/** What the library finds wrong with a request it finds before the handler begins; later the mistake is the service's. */
const began = Effect.map(HttpServerRequest.HttpServerRequest, (request) => {
  const exchange = exchangeOf(request)
  if (exchange !== undefined) exchange.handled = true
})

const marking = (made: Handled): Pick<Handled, "group" | "handlers"> => ({
  group: made.group,
  handlers: Chunk.map(made.handlers, (item) => ({
    ...item,
    handler: (asked) => Effect.zipRight(began, item.handler(asked))
  }))
})

/** `HttpApiBuilder.group`. An answer that its own schema refuses is a defect then, and not a mistake of the client. */
export const group: typeof HttpApiBuilder.group = (api, name, build) =>
  HttpApiBuilder.group(api, name, (handlers) => {
    // Handlers, or an effect that makes them: the library's type for it is a conditional one.
    const made: unknown = build(handlers)
    const marked: unknown = Effect.isEffect(made)
      ? Effect.map(made, (later) => marking(later as Handled))
      : marking(made as Handled)
    return marked as ReturnType<typeof build>
  })
