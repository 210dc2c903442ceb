/** The event of a dead letter names its workflow, so that people are told which one failed. */
import { script } from "./policies.js"

export default script(
  `CREATE OR REPLACE FUNCTION svc_tell_dead_letters() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
     INSERT INTO domain_events (id, org, type, subject, customer_id, payload)
     SELECT svc_new_id('evt'), a.org, 'dlq.entry_created', COALESCE(a.trigger_id, a.connector, a.type), a.customer_id,
       jsonb_build_object('deadLetterId', a.id, 'type', a.type, 'eventId', a.event_id, 'executionId', a.execution_id,
         'deliveryId', a.delivery_id, 'triggerId', a.trigger_id, 'connector', a.connector, 'customerId', a.customer_id,
         'workflowId', a.context->>'workflowId', 'code', a.error->>'code', 'reason', a.error->>'message')
     FROM added a WHERE a.type NOT IN ('dlq.entry_created', 'notification.exhausted')
       AND a.context->>'eventType' IS DISTINCT FROM 'dlq.entry_created';
     RETURN NULL; END $$`
)
