/** GitHub, REST API version 2022-11-28, supported until at least March 2028. https://docs.github.com/rest */
import { defineBuiltIn } from "../../connector/Definition.js"
import { type EventManifest, record, text } from "../SchemaShorthands.js"
import { githubEntities } from "./Entities.js"
import { earlierIssueActions, issueActions } from "./Issues.js"
import { nodeActions } from "./Nodes.js"
import { repositoryActions } from "./Repositories.js"
import { defineGitHubRead } from "./Requests.js"

/** GitHub sends the event in a header and its kind in `action`. */
const event = (id: string, title: string): EventManifest => ({
  id,
  title,
  delivery: "webhook",
  webhook: "repository",
  payloadSchema: record({ action: text, repository: record(), sender: record() })
})

export const github = defineBuiltIn(
  {
    svcConnector: 1,
    slug: "github",
    name: "GitHub",
    description: "Repositories, issues, pull requests, files, releases and workflows on GitHub.",
    kind: "source_hosting",
    version: "1.2.0",
    domain: "github.com",
    baseUrl: "https://api.github.com",
    connectionConfig: {
      type: "object",
      properties: {
        organization: {
          type: "string",
          title: "Organization",
          description: "The one whose members are listed",
          pattern: "^[A-Za-z0-9][A-Za-z0-9_-]{0,38}$"
        }
      }
    },
    auth: [
      {
        id: "oauth",
        type: "oauth2",
        title: "GitHub app",
        default: true,
        authorizationUrl: "https://github.com/login/oauth/authorize",
        tokenUrl: "https://github.com/login/oauth/access_token",
        scopes: ["repo", "read:user", "read:org", "admin:repo_hook"],
        clientAuth: "body",
        // Tokens of a GitHub App expire after eight hours and rotate; those of an OAuth App do not expire and have no refresh token.
        refresh: { rotates: true }
      },
      {
        id: "token",
        type: "api_key",
        title: "Personal access token",
        fields: [{ name: "apiKey", title: "Personal access token", secret: true }]
      }
    ],
    test: { action: "getAuthenticatedUser", accountLabel: "$.login" },
    rateLimit: {
      scope: "connection",
      requests: 5_000,
      perSeconds: 3_600,
      concurrency: 100,
      headers: {
        limit: "x-ratelimit-limit",
        remaining: "x-ratelimit-remaining",
        reset: "x-ratelimit-reset",
        resetFormat: "unix",
        retryAfter: "retry-after"
      }
    },
    actions: [
      defineGitHubRead({
        name: "getAuthenticatedUser",
        title: "Get the account",
        path: "/user",
        needs: {},
        outputSchema: record({ login: text, id: { type: "integer" } }, "login", "id"),
        mock: { login: "octocat", id: 1, name: "The Octocat" }
      }),
      ...repositoryActions,
      ...issueActions,
      ...nodeActions
    ],
    events: [
      event("push", "Commits pushed"),
      event("issues", "Issue opened, changed or closed"),
      event("issue_comment", "Comment on an issue or pull request"),
      event("pull_request", "Pull request opened, changed, merged or closed"),
      event("pull_request_review", "Review of a pull request"),
      event("release", "Release published or changed"),
      event("workflow_run", "Run of GitHub Actions asked for or completed"),
      event("create", "Branch or tag created"),
      event("delete", "Branch or tag deleted")
    ],
    webhooks: [
      {
        id: "repository",
        type: "per_event",
        eventHeader: "x-github-event",
        subscribe: {
          action: "createWebhook",
          args: {
            owner: "{{args.owner}}",
            repo: "{{args.repo}}",
            events: ["{{event.key}}"],
            config: { url: "{{webhook.url}}", content_type: "json", secret: "{{webhook.secret}}" }
          },
          idFrom: "$.id"
        },
        unsubscribe: {
          action: "deleteWebhook",
          args: { owner: "{{args.owner}}", repo: "{{args.repo}}", id: "{{subscription.id}}" }
        },
        verify: { preset: "github", subscriptionSecret: true, idHeader: "x-github-delivery" }
      }
    ],
    entities: githubEntities
  },
  earlierIssueActions
)
