/** Texts of surface C's operations on the organisation, its customers, people, keys, secrets, configuration and audit. */
import type { ResourceApi } from "../resource/Api.js"
import type { TextsOf } from "./OperationText.js"

type Prefix =
  | "organisations"
  | "workspaces"
  | "customers"
  | "apiKeys"
  | "users"
  | "roles"
  | "secrets"
  | "callbackSecret"
  | "config"
  | "audit"

type All = TextsOf<typeof ResourceApi>

/** Texts by operation id. */
export const organisationTexts: Pick<All, Extract<keyof All, `${Prefix}.${string}`>> = {
  "organisations.list": {
    summary: "List organisations",
    description: "Lists the organisation of the calling key as a page of one.",
    answers: { 200: "A page of organisations." }
  },
  "organisations.get": {
    summary: "Read an organisation",
    description:
      "Reads the organisation's settings, plan and status. It works while the organisation is suspended too.",
    answers: { 200: "The organisation." }
  },
  "organisations.update": {
    summary: "Change an organisation",
    description:
      "Changes the members that are sent; the others stay. A suspended organisation is closed to all requests but those that read and change the organisation itself.",
    answers: { 200: "The organisation after the change." },
    example: { name: "Acme Integrations", timezone: "Europe/Berlin" }
  },
  "workspaces.list": {
    summary: "List workspaces",
    description: "Lists the organisation's workspaces, newest first.",
    answers: { 200: "A page of workspaces." }
  },
  "workspaces.create": {
    summary: "Create a workspace",
    description: "Creates a workspace. Keys, workflows and state belong to one; customers belong to the organisation.",
    answers: { 201: "The workspace is created." },
    example: { name: "Staging", slug: "staging" }
  },
  "workspaces.get": {
    summary: "Read a workspace",
    description: "Reads one workspace of the organisation.",
    answers: { 200: "The workspace." }
  },
  "workspaces.update": {
    summary: "Change a workspace",
    description: "Changes the name or the slug of a workspace.",
    answers: { 200: "The workspace after the change." },
    example: { name: "Staging area" }
  },
  "customers.list": {
    summary: "List customers",
    description: "Lists the customers that the key reaches, newest first.",
    answers: { 200: "A page of customers." }
  },
  "customers.create": {
    summary: "Create a customer",
    description:
      "Creates a customer of the organisation. Runs act for customers; only those with the status `active` can run.",
    answers: { 201: "The customer is created." },
    example: { name: "Globex", externalRef: "crm-4711", metadata: { region: "eu" } }
  },
  "customers.get": {
    summary: "Read a customer",
    description: "Reads one customer, by id or as `ref:` with the external reference.",
    answers: { 200: "The customer." }
  },
  "customers.update": {
    summary: "Change a customer",
    description: "Changes the members that are sent; the others stay. `limits` bound what the customer may use.",
    answers: { 200: "The customer after the change." },
    example: { name: "Globex Corporation", limits: { api_calls_per_minute: 600 } }
  },
  "customers.delete": {
    summary: "Delete a customer",
    description:
      "Revokes the customer's connections and erases its data within 24 hours. The id stays listed as deleted for 30 days.",
    answers: { 202: "The deletion has begun." }
  },
  "apiKeys.list": {
    summary: "List API keys",
    description: "Lists the keys of the workspace with their permissions. Their secrets are never listed.",
    answers: { 200: "A page of API keys." }
  },
  "apiKeys.create": {
    summary: "Create an API key",
    description:
      "Creates a key with at most the permissions of the calling one. Its text is shown in this answer only.",
    answers: { 201: "The key is created. `key` is its whole text." },
    example: { name: "Reporting", mode: "live", preset: "viewer", expires: "90d" }
  },
  "apiKeys.get": {
    summary: "Read an API key",
    description: "Reads the permissions and limits of a key, without its secret.",
    answers: { 200: "The API key." }
  },
  "apiKeys.update": {
    summary: "Change an API key",
    description:
      "Changes the name, permissions, customers, addresses or rate limit of a key. It never gets more than the calling key has.",
    answers: { 200: "The API key after the change." },
    example: { name: "Reporting, nightly", rateLimitPerMinute: 120 }
  },
  "apiKeys.revoke": {
    summary: "Revoke an API key",
    description: "Revokes a key permanently. Revoking it again changes nothing. Keys cannot be deleted.",
    answers: { 200: "The revoked API key." }
  },
  "apiKeys.rotate": {
    summary: "Rotate an API key",
    description:
      "Gives a key a new text. The old one stays valid for `graceSeconds`; without it, it is invalid at once.",
    answers: { 200: "The key with its new text, which is shown in this answer only." },
    example: { graceSeconds: 3600 }
  },
  "apiKeys.identitySecret": {
    summary: "Reveal an identity secret",
    description: "Reveals the secret with which callers of this key sign their requests. The call is audited.",
    answers: { 200: "The identity secret." }
  },
  "users.list": {
    summary: "List people",
    description: "Lists the people of the organisation with their roles.",
    answers: { 200: "A page of people." }
  },
  "users.invite": {
    summary: "Invite a person",
    description: "Lists a person with a role. `notice` says what the invitation can do now.",
    answers: { 201: "The invitation. Its link is shown in this answer only." },
    example: { email: "ada@example.com", role: "developer", name: "Ada Lovelace" }
  },
  "roles.list": {
    summary: "List roles",
    description: "Lists the built-in roles and those of the organisation.",
    answers: { 200: "A page of roles." }
  },
  "roles.create": {
    summary: "Create a role",
    description: "Creates a role with some of the permissions of its parent.",
    answers: { 201: "The role is created." },
    example: { name: "Support", parent: "viewer", permissions: { workflows: ["read"] } }
  },
  "secrets.list": {
    summary: "List secrets",
    description: "Lists names and scopes of secrets. Values are read one by one.",
    answers: { 200: "A page of secrets, without their values." }
  },
  "secrets.store": {
    summary: "Store a secret",
    description:
      "Stores a secret under a name, for all customers and environments or for one of them. A secret with the same name and scope is replaced.",
    answers: { 200: "The secret was replaced.", 201: "The secret is stored." },
    example: { name: "CRM_TOKEN", type: "text", value: "s3cr3t" }
  },
  "secrets.reveal": {
    summary: "Read the value of a secret",
    description: "Answers with the value of one secret. The call is audited, and no cache may keep the answer.",
    answers: { 200: "The secret with its value." }
  },
  "secrets.delete": {
    summary: "Delete a secret",
    description: "Deletes a secret with all of its versions.",
    answers: { 204: "The secret is deleted." }
  },
  "callbackSecret.read": {
    summary: "Read the callback secret",
    description:
      "Answers with the secret with which this workspace's callbacks are signed. It is a POST since it is audited.",
    answers: { 200: "The callback secret." }
  },
  "callbackSecret.rotate": {
    summary: "Rotate the callback secret",
    description: "Makes a new secret for callbacks. For a while callbacks carry signatures of both secrets.",
    answers: { 200: "The new callback secret." }
  },
  "config.resolve": {
    summary: "Resolve configuration",
    description:
      "Answers with the values that apply to a customer, an integration, a workflow and an environment, with the level of each and the values that it overrides.",
    answers: { 200: "The values that apply." }
  },
  "config.set": {
    summary: "Set a configuration value",
    description: "Sets a value at one level, or removes it if `value` is null.",
    answers: { 200: "The value that applies now, or null if there is none." },
    example: { level: "saas", scopeId: null, key: "crm.pageSize", value: 100 }
  },
  "audit.list": {
    summary: "List audit entries",
    description: "Lists audit entries, newest first. Each has all members that its hash is computed from.",
    answers: { 200: "A page of audit entries." }
  },
  "audit.verify": {
    summary: "Verify the audit trail",
    description:
      "Recomputes the chain of hashes and reports the first entry that does not match, and the entries that are not yet sealed.",
    answers: { 200: "The outcome of the verification." }
  }
}
