/** Teams and projects of an organisation: made, replaced and listed through the organisations' endpoint. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { type Running, start } from "../support/InProcess.js"

let svc: Running
beforeAll(async () => {
  svc = await start()
})
afterAll(() => svc.stop())

const target = "/api/v1/organizations"

let made = 0
/** A new organisation, and a client of its key. */
const newOrganisation = async (plan: "growth" | "unlimited" = "growth") => {
  const organisation = await svc.organisation(`Teams ${(made += 1)}`, plan)
  const ask = (method: string, path: string, body?: unknown) =>
    svc.ask(method, path, { key: organisation.key, ...(body === undefined ? {} : { body }) })
  return { organisation, ask }
}

describe("teams and projects", () => {
  it("are made, replaced by name or slug, and listed with their people and workflows", async () => {
    const { ask, organisation } = await newOrganisation()
    const invite = async (email: string, teams: ReadonlyArray<string>) =>
      (await ask("POST", "/api/v1/users/invite", { email, role: "viewer", teams })).body.data.userId
    const [ann, ben] = [await invite("ann@example.com", ["Sales"]), await invite("ben@example.com", [])]
    const team = await ask("POST", target, { kind: "team", name: "Sales" })
    assert.deepStrictEqual([team.status, team.body.data.memberIds], [201, [ann]], team.text)
    const replaced = await ask("POST", target, { kind: "team", name: "Sales", memberIds: [ben] })
    assert.deepStrictEqual(
      [replaced.status, replaced.body.data.id, replaced.body.data.memberIds],
      [200, team.body.data.id, [ben]]
    )
    const people = (await ask("GET", "/api/v1/users")).body.data
    assert.deepStrictEqual(people.find(({ id }: { id: string }) => id === ben).teams, ["Sales"])
    const unknown = await ask("POST", target, { kind: "team", name: "Ops", memberIds: [ben, "usr_none"] })
    assert.deepStrictEqual([unknown.status, unknown.body.details[0].path], [422, "memberIds[1]"])

    const { id } = (
      await ask("POST", "/api/v1/workflows", {
        name: "old",
        form: "code",
        code: "export default async () => 1"
      })
    ).body.data
    const body = {
      kind: "project",
      name: "CRM sync",
      teamIds: [team.body.data.id],
      workflowIds: [organisation.workflowId, id]
    }
    const project = await ask("POST", target, body)
    assert.strictEqual(project.status, 201, project.text)
    assert.deepInclude(project.body.data, { name: "CRM sync", slug: "crm-sync", teamIds: body.teamIds })
    assert.sameMembers(project.body.data.workflowIds, body.workflowIds)
    await ask("DELETE", `/api/v1/workflows/${id}`)
    const [listed] = (await ask("GET", `${target}?kind=project`)).body.data
    assert.deepStrictEqual(listed.workflowIds, [organisation.workflowId])
    const renamed = await ask("POST", target, { kind: "project", name: "CRM", slug: "crm-sync" })
    assert.deepStrictEqual([renamed.status, renamed.body.data.id, renamed.body.data.workflowIds], [200, listed.id, []])
    const actions = (await ask("GET", "/api/v1/audit")).body.data.map(({ action }: { action: string }) => action)
    for (const action of ["team.create", "team.update", "project.create", "project.update"])
      assert.include(actions, action)
    const stranger = await newOrganisation()
    assert.deepStrictEqual((await stranger.ask("GET", `${target}?kind=project`)).body.data, [])
    const theirs = await stranger.ask("POST", target, { ...body, teamIds: [] })
    assert.deepStrictEqual([theirs.status, theirs.body.details[0].path], [422, "workflowIds[0]"])
  })

  it("show the first thousand people of a team, however many are in it", async () => {
    const { ask, organisation } = await newOrganisation()
    const [role] = (await ask("GET", "/api/v1/roles")).body.data
    await svc.sql(`INSERT INTO users (id, org, email, role_id, teams)
      SELECT svc_new_id('usr'), '${organisation.organisationId}', n || '@example.com', '${role.id}', '{Everyone,Some}'
      FROM generate_series(1, 1200) n`)
    const everyone = (await ask("POST", target, { kind: "team", name: "Everyone" })).body.data
    assert.lengthOf(everyone.memberIds, 1_000)
    const none = await ask("POST", target, { kind: "team", name: "Everyone", memberIds: [] })
    assert.deepStrictEqual([none.status, none.body.data.memberIds], [200, []])
    const people = await svc.sql(
      `SELECT teams, count(*)::int AS n FROM users WHERE org = '${organisation.organisationId}' GROUP BY 1`
    )
    assert.deepStrictEqual(people, [{ teams: ["Some"], n: 1_200 }])
  })

  it("are at most 100 of each", async () => {
    const { ask, organisation } = await newOrganisation("unlimited")
    for (const [kind, table, more] of [
      ["team", "teams", ""],
      ["project", "projects", ", slug"]
    ] as const) {
      await svc.sql(`INSERT INTO ${table} (id, org, name${more})
        SELECT svc_new_id('x'), '${organisation.organisationId}', 'n' || n${more === "" ? "" : ", 'n' || n"} FROM generate_series(1, 99) n`)
      const answers = await Promise.all(["a", "b"].map((name) => ask("POST", target, { kind, name })))
      assert.deepStrictEqual(answers.map(({ status }) => status).sort(), [201, 403])
      await svc.sql(`DELETE FROM ${table} WHERE org = '${organisation.organisationId}'`)
    }
  })
})
