/**
 * Further ways in: invitations are found by their links, and sign-ins that a browser has begun, by mail or at the operator's
 * identity provider, wait in the database, so that any node ends them. A browser, a link and a code are known by the hashes of
 * their secrets only. Requests' role has no access.
 */
import { Effect } from "effect"
import { script, tenantTable } from "./policies.js"

export default Effect.all([
  script(
    "CREATE UNIQUE INDEX users_invite ON users (invite_hash) WHERE invite_hash IS NOT NULL",
    // Mails of invitations in the last hour, also to people who were removed since.
    `CREATE TABLE invite_mails (
       org text COLLATE "C" NOT NULL REFERENCES organisations, address text NOT NULL, at timestamptz NOT NULL)`,
    "CREATE INDEX invite_mails_org ON invite_mails (org, at)",
    "CREATE INDEX identities_email ON identities (lower(email))",
    // email: the address that was typed, whether or not a person has it. code_hash: the hash of the code that the link showed in
    // another browser.
    `CREATE TABLE mail_sign_ins (
       browser_hash text PRIMARY KEY, email text NOT NULL, token_hash text NOT NULL UNIQUE, code_hash text,
       identity_id text COLLATE "C" REFERENCES identities ON DELETE CASCADE, tries int NOT NULL DEFAULT 0,
       mailed_at timestamptz, used_at timestamptz, expires_at timestamptz NOT NULL)`,
    "CREATE INDEX mail_sign_ins_email ON mail_sign_ins (lower(email), mailed_at)",
    "CREATE INDEX mail_sign_ins_expired ON mail_sign_ins (expires_at)",
    "CREATE INDEX mail_sign_ins_identity ON mail_sign_ins (identity_id) WHERE identity_id IS NOT NULL",
    // invite_hash: of the invitation that is accepted with it.
    `CREATE TABLE oidc_sign_ins (
       browser_hash text PRIMARY KEY, next text NOT NULL, invite_hash text, expires_at timestamptz NOT NULL)`,
    "CREATE INDEX oidc_sign_ins_expired ON oidc_sign_ins (expires_at)",
    "GRANT SELECT, INSERT, UPDATE, DELETE ON mail_sign_ins, oidc_sign_ins TO svc_writer"
  ),
  tenantTable("invite_mails", { app: "SELECT, INSERT, DELETE" })
])
