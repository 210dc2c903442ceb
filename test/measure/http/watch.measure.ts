/** A watch tells of a change within a second, and ends within a second when its caller may watch no more. */
import { afterAll, beforeAll, it } from "@effect/vitest"
import { type Running, start } from "../../support/InProcess.js"
import { makeKey } from "../../support/keys.js"
import { assertWithin } from "../../support/pace.js"
import { cookieOf, origin, signInTo } from "../../support/signIn.js"
import { watchIn } from "../../support/watch.js"

let svc: Running
beforeAll(async () => {
  svc = await start({ SVC_PUBLIC_URL: origin })
}, 60_000)
afterAll(() => svc.stop())

const watch = async (as: Parameters<typeof watchIn>[2]) => {
  const followed = await watchIn(svc, "executions", as)
  await followed.begun
  return followed
}

it("tells of the end of a run", async () => {
  const { key, workflowId } = svc.first
  const followed = await watch({ key })
  const started = performance.now()
  const answer = await svc.ask("POST", `/api/v1/workflows/${workflowId}/execute`, { key, body: { input: {} } })
  await followed.told(String(answer.headers["x-svc-execution-id"]), "completed")
  assertWithin(performance.now() - started, 1_000)
  await followed.close()
})

it("ends after its key is revoked", async () => {
  const { id, key } = await makeKey(svc, {})
  const followed = await watch({ key })
  const revoked = performance.now()
  await svc.ask("DELETE", `/api/v1/api-keys/${id}`, { key: svc.first.key })
  assertWithin((await followed.ended) - revoked, 1_000)
})

it("ends after its person is demoted, removed, or has signed out", async () => {
  const { askWith, newLink, newOwner, open } = signInTo(() => svc)
  const { cookie, organisation } = await newOwner("Watching people")
  const owner = askWith(cookie)
  const person = async (email: string) => {
    const invited = (await owner("POST", "/api/v1/users/invite", { body: { email, role: "admin" } })).body.data
    const session = cookieOf(await open(await newLink(organisation.organisationId, email)))
    return { id: invited.id ?? invited.userId, followed: await watch({ cookie: session }), ask: askWith(session) }
  }
  const ended = async (email: string, end: (one: Awaited<ReturnType<typeof person>>) => Promise<unknown>) => {
    const one = await person(email)
    await end(one)
    const changed = performance.now()
    assertWithin((await one.followed.ended) - changed, 1_000, email)
  }
  await ended("demoted@example.com", ({ id }) => owner("PUT", `/api/v1/users/${id}`, { body: { roleId: "viewer" } }))
  await ended("removed@example.com", ({ id }) => owner("DELETE", `/api/v1/users/${id}`))
  await ended("left@example.com", async ({ ask }) => {
    const [session] = (await ask("GET", "/api/v1/sessions")).body.data
    await ask("DELETE", `/api/v1/sessions/${session.id}`)
  })
})
