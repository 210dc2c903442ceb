/**
 * People who sign in. An identity is one human, to whom a person of each organisation points. Sessions and links are known
 * by the hashes of their tokens only. None of these rows belongs to an organisation, so that requests' role has no access.
 */
import { Effect } from "effect"
import { script } from "./policies.js"

export default Effect.asVoid(
  script(
    `CREATE TABLE identities (
       id text COLLATE "C" PRIMARY KEY, email text NOT NULL, verified_at timestamptz, issuer text, subject text,
       created_at timestamptz NOT NULL DEFAULT now(), CHECK ((issuer IS NULL) = (subject IS NULL)))`,
    "CREATE UNIQUE INDEX identities_subject ON identities (issuer, subject) WHERE issuer IS NOT NULL",
    `ALTER TABLE users ADD COLUMN identity_id text COLLATE "C" REFERENCES identities`,
    "CREATE UNIQUE INDEX users_identity ON users (identity_id, org) WHERE identity_id IS NOT NULL",
    `CREATE TABLE sessions (
       id text COLLATE "C" PRIMARY KEY, token_hash text NOT NULL UNIQUE,
       identity_id text COLLATE "C" NOT NULL REFERENCES identities ON DELETE CASCADE, method text NOT NULL,
       ip text NOT NULL, user_agent text, created_at timestamptz NOT NULL, last_seen_at timestamptz NOT NULL,
       expires_at timestamptz NOT NULL)`,
    "CREATE INDEX sessions_identity ON sessions (identity_id, id)",
    "CREATE INDEX sessions_expired ON sessions (expires_at)",
    // email: of the person whom it signs in; NULL: the owner, who is made by the first such link.
    `CREATE TABLE sign_in_links (
       token_hash text PRIMARY KEY, org text COLLATE "C" NOT NULL REFERENCES organisations, email text,
       expires_at timestamptz NOT NULL)`,
    "GRANT SELECT, INSERT, UPDATE, DELETE ON identities, sessions, sign_in_links TO svc_writer",
    "GRANT INSERT ON users TO svc_writer"
  )
)
