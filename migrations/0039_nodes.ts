/** The nodes of a cluster. A lone service has no row. */
import { script } from "./policies.js"

export default script(
  // Of a node for ever: the lock on its number says that its session lives.
  "CREATE SEQUENCE node_numbers AS integer CYCLE",
  `CREATE TABLE nodes (
     id text PRIMARY KEY,
     number integer NOT NULL UNIQUE,
     role text NOT NULL CHECK (role IN ('all', 'api', 'runner')),
     -- Where other nodes reach it: host:port. Null for a node that none sends messages to.
     address text UNIQUE,
     -- Of the program: all nodes have the same.
     build text NOT NULL,
     -- Proofs of the secrets that it accepts from others; it uses the first itself.
     secrets text[] NOT NULL,
     -- It gives its shards to the others, and ends.
     leaving boolean NOT NULL DEFAULT false,
     -- The end of the names of its sessions.
     process text NOT NULL,
     started_at timestamptz NOT NULL DEFAULT now(),
     heartbeat_at timestamptz NOT NULL DEFAULT now()
   ) WITH (fillfactor = 50)`,
  // A first commit locks its node's row, which needs the right to change something of it.
  "GRANT SELECT, UPDATE (leaving) ON nodes TO svc_writer"
)
