/** GitHub's REST API: pages by Link header, the rate limit in every answer, 422 with the invalid fields. */
import { type FakeRequest, startFake, type Fake, type Reply, slice } from "./Fake.js"
import { githubNodes } from "./githubNodes.js"

type Item = Record<string, unknown>

const numbered = (count: number, make: (n: number) => Item): ReadonlyArray<Item> =>
  Array.from({ length: count }, (_, place) => make(place + 1))

const repository = { id: 1, name: "hello", full_name: "octocat/hello", private: false, default_branch: "main" }
const issues = numbered(5, (n) => ({ id: n, number: n, title: `Issue ${n}`, state: n === 5 ? "closed" : "open" }))
const pulls = numbered(2, (n) => ({ id: n, number: n, title: `Pull ${n}`, state: "open" }))
const comments = numbered(2, (n) => ({ id: n, body: `Comment ${n}` }))

const page = (asked: FakeRequest, origin: string, items: ReadonlyArray<unknown>, as?: string): Reply => {
  const at = Number(asked.query.get("page") ?? 1)
  const size = Number(asked.query.get("per_page") ?? 30)
  const { more, page } = slice(items, (at - 1) * size, size)
  const next = new URL(`${origin}${asked.path}?${asked.query.toString()}`)
  next.searchParams.set("page", String(at + 1))
  const link = `<${next.href}>; rel="next", <${next.href}>; rel="last"`
  return {
    json: as === undefined ? page : { total_count: items.length, incomplete_results: false, [as]: page },
    ...(more ? { headers: { link } } : {})
  }
}

const notFound: Reply = {
  status: 404,
  json: { message: "Not Found", documentation_url: "https://docs.github.com/rest" }
}

const one = (items: ReadonlyArray<Item>, asked: FakeRequest, change: Item = {}): Reply => {
  const found = items.find((item) => String(item["number"]) === asked.params["number"])
  return found === undefined ? notFound : { json: { ...found, ...change } }
}

const made = (asked: FakeRequest, needs: string, like: Item): Reply => {
  const sent = asked.json()
  return needs in sent
    ? { status: 201, json: { ...like, ...sent } }
    : {
        status: 422,
        json: { message: "Validation Failed", errors: [{ resource: "Issue", field: needs, code: "missing_field" }] }
      }
}

const repo = "/repos/:owner/:repo"

export const githubFake = (): Promise<Fake> => {
  let left = 5_000
  const nodes = githubNodes()
  return startFake({
    headers: () => ({
      "x-ratelimit-limit": "5000",
      "x-ratelimit-remaining": String(--left),
      "x-ratelimit-reset": "1795245000"
    }),
    guard: (asked) => {
      if (asked.headers["user-agent"] !== "svc")
        return { status: 403, text: "Request forbidden by administrative rules." }
      if (asked.headers["x-github-api-version"] !== "2022-11-28") return { status: 400, json: { message: "version" } }
      return asked.headers.authorization === "Bearer ghp_fake"
        ? null
        : { status: 401, json: { message: "Bad credentials", documentation_url: "https://docs.github.com/rest" } }
    },
    routes: {
      "GET /user": () => ({ json: { login: "octocat", id: 1 } }),
      "GET /user/repos": (asked, origin) => page(asked, origin, nodes.repositories),
      "POST /user/repos": (asked) => made(asked, "name", repository),
      "POST /orgs/:org/repos": (asked) => made(asked, "name", { ...repository, owner: { login: asked.params["org"] } }),
      "GET /search/issues": (asked, origin) =>
        asked.query.has("q")
          ? page(asked, origin, issues, "items")
          : {
              status: 422,
              json: { message: "Validation Failed", errors: [{ resource: "Search", field: "q", code: "missing" }] }
            },
      [`GET ${repo}`]: (asked) => (asked.params["repo"] === "hello" ? { json: repository } : notFound),
      [`PATCH ${repo}`]: (asked) => ({ json: { ...repository, ...asked.json() } }),
      [`GET ${repo}/branches`]: (asked, origin) => page(asked, origin, [{ name: "main", commit: { sha: "c5b9" } }]),
      [`GET ${repo}/commits`]: (asked, origin) => page(asked, origin, [{ sha: "c5b9", commit: { message: "First" } }]),
      [`GET ${repo}/contents/docs/read%20me.md`]: (asked) => ({
        json: { type: "file", path: "docs/read me.md", sha: "3d21", ref: asked.query.get("ref"), content: "SGk=" }
      }),
      [`PUT ${repo}/contents/docs/read%20me.md`]: (asked) =>
        "message" in asked.json() && "content" in asked.json()
          ? { status: 201, json: { content: { path: "docs/read me.md", sha: "9f2a" }, commit: { sha: "9f2a" } } }
          : { status: 422, json: { message: "Invalid request.", errors: ["message wasn't supplied."] } },
      [`GET ${repo}/releases`]: (asked, origin) => page(asked, origin, [{ id: 1, tag_name: "v1" }]),
      [`POST ${repo}/releases`]: (asked) => made(asked, "tag_name", { id: 2 }),
      [`GET ${repo}/actions/runs`]: (asked, origin) =>
        page(asked, origin, [{ id: 7, status: "completed" }], "workflow_runs"),
      [`POST ${repo}/actions/workflows/:workflow/dispatches`]: () => ({ status: 204 }),
      [`POST ${repo}/hooks`]: (asked) => made(asked, "config", { id: 5, active: true }),
      [`DELETE ${repo}/hooks/:id`]: () => ({ status: 204 }),
      [`GET ${repo}/issues`]: (asked, origin) =>
        page(
          asked,
          origin,
          issues.filter((item) => ["all", item["state"]].includes(asked.query.get("state") ?? "open"))
        ),
      [`POST ${repo}/issues`]: (asked) => {
        const reply = made(asked, "title", {})
        return reply.status === 201 ? { status: 201, json: nodes.create(asked.json()) } : reply
      },
      "POST /graphql": nodes.answer,
      "GET /issues": (asked, origin) => page(asked, origin, nodes.listed(asked)),
      "GET /users/:login": (asked) => {
        const found = nodes.members.find(({ login }) => login === asked.params["login"])
        return found === undefined ? notFound : { json: found }
      },
      [`GET ${repo}/issues/:number`]: (asked) => one(issues, asked),
      [`PATCH ${repo}/issues/:number`]: (asked) => {
        const changed = nodes.update(asked.params["number"], asked.json())
        return changed === undefined ? one(issues, asked, asked.json()) : { json: changed }
      },
      [`GET ${repo}/issues/:number/comments`]: (asked, origin) => page(asked, origin, comments),
      [`POST ${repo}/issues/:number/comments`]: (asked) => made(asked, "body", { id: 3 }),
      [`GET ${repo}/pulls`]: (asked, origin) => page(asked, origin, pulls),
      [`POST ${repo}/pulls`]: (asked) => {
        const reply = made(asked, "head", {})
        const branches = { head: { ref: asked.json()["head"] }, base: { ref: asked.json()["base"] } }
        const pull = { id: 3, number: 3, state: "open", title: asked.json()["title"], ...branches }
        return reply.status === 201 ? { status: 201, json: pull } : reply
      },
      [`GET ${repo}/pulls/:number`]: (asked) => one(pulls, asked),
      [`PATCH ${repo}/pulls/:number`]: (asked) => one(pulls, asked, asked.json()),
      [`PUT ${repo}/pulls/:number/merge`]: () => ({ json: { sha: "9f2a", merged: true, message: "merged" } })
    }
  })
}
