/** Actions of GitHub on repositories, contents, releases and workflows. */
import {
  type ActionManifest,
  flag,
  integer,
  list,
  nullable,
  oneOf,
  record,
  text,
  texts,
  time
} from "../SchemaShorthands.js"
import {
  githubHeaders,
  pathInRepository,
  defineGitHubList,
  emptyAnswer,
  repositoryArguments,
  owner,
  defineGitHubRead,
  sha,
  defineGitHubWrite
} from "./Requests.js"

const repository = record(
  {
    id: integer,
    name: text,
    full_name: text,
    private: flag,
    html_url: text,
    description: nullable("string"),
    default_branch: text,
    archived: flag,
    updated_at: time
  },
  "id",
  "name",
  "full_name"
)
const hello = {
  id: 1296269,
  name: "Hello-World",
  full_name: "octocat/Hello-World",
  private: false,
  html_url: "https://github.com/octocat/Hello-World",
  description: "My first repository",
  default_branch: "main",
  archived: false,
  updated_at: "2026-11-01T09:00:00Z"
}
const repositoryInput = {
  name: text,
  description: text,
  homepage: text,
  private: flag,
  has_issues: flag,
  has_projects: flag,
  has_wiki: flag
}

const commit = record({ sha, html_url: text, commit: record({ message: text }) }, "sha")
const content = record({ type: text, path: text, sha, size: integer, encoding: text, content: text }, "path", "sha")
const release = record(
  { id: integer, tag_name: text, name: nullable("string"), draft: flag, prerelease: flag, html_url: text },
  "id",
  "tag_name"
)
const run = record({ id: integer, status: nullable("string"), conclusion: nullable("string"), html_url: text }, "id")
const first = { id: 1, tag_name: "v1.0.0", name: "First", draft: false, prerelease: false }
const head = "6dcb09b5b57875f334f61aebed695e2e4193db5e"

export const repositoryActions: ReadonlyArray<ActionManifest> = [
  defineGitHubList({
    name: "listRepositories",
    title: "List the repositories that the account reaches",
    path: "/user/repos",
    needs: {},
    filters: {
      visibility: oneOf("all", "public", "private"),
      affiliation: text,
      sort: oneOf("created", "updated", "pushed", "full_name"),
      direction: oneOf("asc", "desc"),
      since: time
    },
    outputSchema: list(repository),
    mock: [hello]
  }),
  defineGitHubRead({
    name: "getRepository",
    title: "Get a repository",
    path: pathInRepository(""),
    needs: repositoryArguments,
    outputSchema: repository,
    mock: hello
  }),
  defineGitHubWrite({
    name: "createRepository",
    title: "Create a repository of the account",
    path: "/user/repos",
    needs: {},
    writable: { ...repositoryInput, auto_init: flag, gitignore_template: text, license_template: text },
    required: ["name"],
    outputSchema: repository,
    mock: hello
  }),
  defineGitHubWrite({
    name: "createOrganizationRepository",
    title: "Create a repository of an organization",
    path: "/orgs/{{args.org}}/repos",
    needs: { org: owner },
    writable: { ...repositoryInput, auto_init: flag, visibility: oneOf("public", "private", "internal") },
    required: ["name"],
    outputSchema: repository,
    mock: hello
  }),
  defineGitHubWrite({
    name: "updateRepository",
    title: "Change a repository",
    method: "PATCH",
    path: pathInRepository(""),
    needs: repositoryArguments,
    writable: { ...repositoryInput, default_branch: text, archived: flag },
    outputSchema: repository,
    mock: hello
  }),
  defineGitHubList({
    name: "listBranches",
    title: "List branches",
    path: pathInRepository("/branches"),
    needs: repositoryArguments,
    filters: { protected: flag },
    outputSchema: list(record({ name: text, commit: record({ sha }) }, "name")),
    mock: [{ name: "main", commit: { sha: head }, protected: true }]
  }),
  defineGitHubList({
    name: "listCommits",
    title: "List commits",
    path: pathInRepository("/commits"),
    needs: repositoryArguments,
    filters: { sha, path: text, author: text, since: time, until: time },
    outputSchema: list(commit),
    mock: [{ sha: head, commit: { message: "Repair the sum" } }]
  }),
  {
    ...defineGitHubRead({
      name: "getContent",
      title: "Get a file's content",
      path: pathInRepository("/contents/{{args.path}}"),
      needs: { ...repositoryArguments, path: text },
      query: { ref: text },
      outputSchema: content,
      mock: { type: "file", path: "README.md", sha: head, size: 6, encoding: "base64", content: "SGVsbG8h" }
    }),
    request: {
      method: "GET",
      path: pathInRepository("/contents/{{args.path}}"),
      pathValues: "segments",
      headers: githubHeaders,
      query: { ref: "{{args.ref}}" }
    }
  },
  {
    ...defineGitHubWrite({
      name: "putContent",
      title: "Create or change a file",
      description: "The content in base64. To change a file, its sha is needed.",
      method: "PUT",
      path: pathInRepository("/contents/{{args.path}}"),
      needs: { ...repositoryArguments, path: text },
      writable: { message: text, content: text, branch: text, sha },
      required: ["message", "content"],
      outputSchema: record({ content: { type: ["object", "null"] }, commit: record({ sha }) }, "commit"),
      mock: { content: { path: "README.md", sha: head }, commit: { sha: head } }
    }),
    request: {
      method: "PUT",
      path: pathInRepository("/contents/{{args.path}}"),
      pathValues: "segments",
      headers: githubHeaders,
      body: {
        message: "{{args.message}}",
        content: "{{args.content}}",
        branch: "{{args.branch}}",
        sha: "{{args.sha}}"
      }
    }
  },
  defineGitHubList({
    name: "listReleases",
    title: "List releases",
    path: pathInRepository("/releases"),
    needs: repositoryArguments,
    outputSchema: list(release),
    mock: [first]
  }),
  defineGitHubWrite({
    name: "createRelease",
    title: "Create a release",
    path: pathInRepository("/releases"),
    needs: repositoryArguments,
    writable: {
      tag_name: text,
      target_commitish: text,
      name: text,
      body: text,
      draft: flag,
      prerelease: flag,
      generate_release_notes: flag
    },
    required: ["tag_name"],
    outputSchema: release,
    mock: first
  }),
  defineGitHubList({
    name: "listWorkflowRuns",
    title: "List runs of GitHub Actions",
    path: pathInRepository("/actions/runs"),
    needs: repositoryArguments,
    filters: { branch: text, event: text, status: text, actor: text, created: text, head_sha: sha },
    items: "$.workflow_runs",
    outputSchema: record({ total_count: integer, workflow_runs: list(run) }, "workflow_runs"),
    mock: { total_count: 1, workflow_runs: [{ id: 30433642, status: "completed", conclusion: "success" }] }
  }),
  defineGitHubWrite({
    name: "dispatchWorkflow",
    title: "Start a workflow of GitHub Actions",
    path: pathInRepository("/actions/workflows/{{args.workflow}}/dispatches"),
    needs: { ...repositoryArguments, workflow: text },
    writable: { ref: text, inputs: record() },
    required: ["ref"],
    outputSchema: emptyAnswer,
    mock: null
  }),
  defineGitHubWrite({
    name: "createWebhook",
    title: "Create a repository's webhook",
    path: pathInRepository("/hooks"),
    needs: repositoryArguments,
    writable: {
      events: texts,
      active: flag,
      config: record({ url: text, content_type: oneOf("json", "form"), secret: text }, "url")
    },
    required: ["config"],
    outputSchema: record({ id: integer, active: flag, events: texts }, "id"),
    mock: { id: 12345678, active: true, events: ["push"], config: { url: "https://example.com/hook" } }
  }),
  defineGitHubWrite({
    name: "deleteWebhook",
    title: "Delete a repository's webhook",
    method: "DELETE",
    path: pathInRepository("/hooks/{{args.id}}"),
    needs: { ...repositoryArguments, id: integer },
    outputSchema: emptyAnswer,
    mock: null
  })
]
