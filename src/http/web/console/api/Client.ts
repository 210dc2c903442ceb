/**
 * Asks the API as the person who is signed in. The browser adds the session's cookie, this client the headers without which
 * the service does not act for a page, and what was chosen of the person's organisations.
 */
import createClient, { type MaybeOptionalInit } from "openapi-fetch"
import type { components, paths } from "console-api"

/** The records of the API by their names in its document. */
export type ApiSchemas = components["schemas"]
/** What is wrong with one member. */
export type ErrorDetail = ApiSchemas["ErrorDetail"]

/** The API refused a request, or was not reached: then `status` is 0. */
export class ApiError extends Error {
  override readonly name = "ApiError"
  readonly status: number
  readonly code: string
  readonly requestId: string | null
  readonly retryable: boolean
  readonly details: ReadonlyArray<ErrorDetail>

  constructor(status: number, body: Partial<ApiSchemas["Invalid"]> | undefined, fallback: string) {
    super(body?.message ?? fallback)
    this.status = status
    this.code = body?.code ?? (status === 0 ? "NOT_REACHED" : "UNREADABLE_ANSWER")
    this.requestId = body?.requestId ?? null
    this.retryable = body?.retryable ?? status === 0
    this.details = body?.details ?? []
  }

  /** What the API says of one member of the body; a member of a list has its index in the path. */
  detailOf(path: string): string | undefined {
    return this.details.find((detail) => detail.path === path)?.message
  }
}

const chosenKey = "svc.organisation"
/** The organisation that the person chose in this browser, if several are theirs. */
export const chosenOrganisation = {
  get: (): string | null => localStorage.getItem(chosenKey),
  set: (id: string | null): void =>
    id === null ? localStorage.removeItem(chosenKey) : localStorage.setItem(chosenKey, id)
}

/** Headers of every request; `fetch` by hand, for streams and files, needs them, too. */
export const ownHeaders = (): Record<string, string> => {
  const organisation = chosenOrganisation.get()
  return { "x-svc-console": "1", ...(organisation === null ? {} : { "x-svc-organization": organisation }) }
}

export const client = createClient<paths>({ baseUrl: location.origin })
client.use({
  onRequest: ({ request }) => {
    for (const [name, value] of Object.entries(ownHeaders())) request.headers.set(name, value)
    return request
  }
})

interface Answer<Body> {
  readonly data?: Body
  readonly error?: unknown
  readonly response: Response
}

const notReached = "The service was not reached. Is it running, and are you online?"

/** The body of an answer. Fails with `ApiError`. */
export const bodyOf = async <Body>(answer: Promise<Answer<Body>>): Promise<Body> => {
  let found: Answer<Body>
  try {
    found = await answer
  } catch (cause) {
    if (cause instanceof DOMException && cause.name === "AbortError") throw cause
    throw new ApiError(0, undefined, notReached)
  }
  const { data, error, response } = found
  if (response.ok) return data as Body
  const body = typeof error === "object" && error !== null ? (error as Partial<ApiSchemas["Invalid"]>) : undefined
  throw new ApiError(response.status, body, `The service answered ${response.status} without words.`)
}

type GetOf<P extends keyof paths> = paths[P] extends { get: infer Operation } ? Operation : never
/** Paths that can be read. */
export type ReadPath = { [P in keyof paths]: paths[P] extends { get: object } ? P : never }[keyof paths]
/** The parameters of a read. */
export type ReadInit<P extends ReadPath> = MaybeOptionalInit<paths[P], "get">
type JsonOf<Responses> = Responses extends { 200: { content: { "application/json": infer Body } } } ? Body : never
/** The body that a read answers. */
export type ReadBody<P extends ReadPath> = GetOf<P> extends { responses: infer Responses } ? JsonOf<Responses> : never

/** Reads a path. Fails with `ApiError`. */
export const read = <P extends ReadPath>(path: P, init: unknown, signal?: AbortSignal): Promise<ReadBody<P>> =>
  // The client's own types tie the parameters to the path, which `useRead` does for its callers.
  bodyOf(
    (client.GET as (path: P, init: unknown) => Promise<Answer<ReadBody<P>>>)(path, { ...(init as object), signal })
  )
