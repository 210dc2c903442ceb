/** Changes connectors of an organisation over the API. */
import { assert } from "@effect/vitest"
import { acme } from "./connectors.js"
import type { Answer, Ask, Running } from "./InProcess.js"

/** An action of a definition; members of `more` override its members. */
export const action = (name: string, path = `/${name}`, more: object = {}) => ({
  name,
  request: { method: "GET", path },
  ...more
})

/** The paths of the mistakes in a refusal. */
export const pathsOf = ({ body }: Answer): ReadonlyArray<string> =>
  body.details.map(({ path }: { readonly path: string }) => path)

/** Requests about connectors. `world`: the service, and the key of the organisation. */
export const connectorEditor = (world: () => { readonly svc: Running; readonly key: string }) => {
  let made = 0

  const ask = (method: string, path: string, body?: unknown, more: Ask = {}) => {
    const { key, svc } = world()
    return svc.ask(method, `/api/v1/connectors${path}`, { key, ...(body === undefined ? {} : { body }), ...more })
  }

  /** The same of a request that succeeds. */
  const done = async (method: string, path: string, body?: unknown, more: Ask = {}) => {
    const answer = await ask(method, path, body, more)
    assert.isBelow(answer.status, 300, `${method} ${path}: ${answer.text}`)
    return answer
  }

  /** The slug of a new connector with these members of its definition. */
  const create = async (more: object = {}): Promise<string> => {
    const slug = `edited-${(made += 1)}`
    await done("POST", "", acme(slug, more))
    return slug
  }

  const published = async (more: object = {}): Promise<string> => {
    const slug = await create(more)
    await done("POST", `/${slug}/publish`, {})
    return slug
  }

  const read = async (path: string) => (await done("GET", path)).body.data

  /** A member of each item of a list. */
  const listed = async (path: string, member = "name"): Promise<ReadonlyArray<string>> =>
    (await read(path)).map((one: { readonly [name: string]: string }) => one[member])

  return { ask, done, create, published, read, listed }
}
