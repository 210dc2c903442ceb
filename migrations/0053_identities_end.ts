/** An identity, with its sessions, ends with the last person who points to it. */
import { Effect } from "effect"
import { script } from "./policies.js"

export default Effect.asVoid(
  script(
    // As its owner: the request's role, which removes people, has no access to identities.
    `CREATE FUNCTION end_identity() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
     BEGIN
       DELETE FROM identities i WHERE i.id = OLD.identity_id
         AND NOT EXISTS (SELECT FROM users u WHERE u.identity_id = i.id);
       RETURN NULL;
     END $$`,
    "REVOKE ALL ON FUNCTION end_identity() FROM PUBLIC",
    `CREATE TRIGGER users_end_identity AFTER DELETE ON users FOR EACH ROW WHEN (OLD.identity_id IS NOT NULL)
     EXECUTE FUNCTION end_identity()`
  )
)
