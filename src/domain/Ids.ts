/**
 * The branded identifiers of the service: a prefix that names the record, an underscore, and a lower-case ULID, so that
 * ids sort by creation time. Specification: Resources; contract: ids.
 */
import { Schema } from "effect"

const ulidBody = "[0-9a-hjkmnp-tv-z]{26}"

const id = <const Prefix extends string, const Brand extends string>(prefix: Prefix, brand: Brand) =>
  Schema.String.pipe(
    Schema.pattern(new RegExp(`^${prefix}_${ulidBody}$`), {
      message: () => `expected an id of the form ${prefix}_ and 26 lower-case letters and digits`
    }),
    Schema.brand(brand)
  )

export const OrganisationId = id("org", "OrganisationId")
export type OrganisationId = typeof OrganisationId.Type
export const SpaceId = id("spc", "SpaceId")
export type SpaceId = typeof SpaceId.Type
export const CustomerId = id("cus", "CustomerId")
export type CustomerId = typeof CustomerId.Type
export const ApiKeyId = id("key", "ApiKeyId")
export type ApiKeyId = typeof ApiKeyId.Type
export const SecretId = id("sec", "SecretId")
export type SecretId = typeof SecretId.Type
export const UserId = id("usr", "UserId")
export type UserId = typeof UserId.Type
export const RoleId = id("role", "RoleId")
export type RoleId = typeof RoleId.Type
export const EnvironmentId = id("env", "EnvironmentId")
export type EnvironmentId = typeof EnvironmentId.Type
export const ReleaseId = id("rel", "ReleaseId")
export type ReleaseId = typeof ReleaseId.Type
export const ExecutionId = id("exec", "ExecutionId")
export type ExecutionId = typeof ExecutionId.Type
export const BlobId = id("blob", "BlobId")
export type BlobId = typeof BlobId.Type
export const AuditId = id("aud", "AuditId")
export type AuditId = typeof AuditId.Type
export const DeliveryId = id("dlv", "DeliveryId")
export type DeliveryId = typeof DeliveryId.Type
export const RequestId = id("req", "RequestId")
export type RequestId = typeof RequestId.Type
export const InstallationId = id("inst", "InstallationId")
export type InstallationId = typeof InstallationId.Type
export const WidgetId = id("wdg", "WidgetId")
export type WidgetId = typeof WidgetId.Type
export const EmbedSessionId = id("ems", "EmbedSessionId")
export type EmbedSessionId = typeof EmbedSessionId.Type
export const ConnectorId = id("ctr", "ConnectorId")
export type ConnectorId = typeof ConnectorId.Type
export const AuthProviderId = id("aup", "AuthProviderId")
export type AuthProviderId = typeof AuthProviderId.Type
export const ConnectionId = id("conn", "ConnectionId")
export type ConnectionId = typeof ConnectionId.Type
export const NodeId = id("node", "NodeId")
export type NodeId = typeof NodeId.Type
export const CredentialId = id("cred", "CredentialId")
export type CredentialId = typeof CredentialId.Type
export const ConnectSessionId = id("cs", "ConnectSessionId")
export type ConnectSessionId = typeof ConnectSessionId.Type
export const EventId = id("evt", "EventId")
export type EventId = typeof EventId.Type
export const TriggerId = id("trg", "TriggerId")
export type TriggerId = typeof TriggerId.Type
export const RouteId = id("rte", "RouteId")
export type RouteId = typeof RouteId.Type
export const DeadLetterId = id("dlq", "DeadLetterId")
export type DeadLetterId = typeof DeadLetterId.Type
export const ReplayId = id("rpl", "ReplayId")
export type ReplayId = typeof ReplayId.Type
export const WebhookEndpointId = id("whe", "WebhookEndpointId")
export type WebhookEndpointId = typeof WebhookEndpointId.Type
export const DeliveryAttemptId = id("att", "DeliveryAttemptId")
export type DeliveryAttemptId = typeof DeliveryAttemptId.Type
export const NotificationId = id("ntf", "NotificationId")
export type NotificationId = typeof NotificationId.Type
export const ApprovalId = id("apv", "ApprovalId")
export type ApprovalId = typeof ApprovalId.Type
export const TeamId = id("team", "TeamId")
export type TeamId = typeof TeamId.Type
export const ProjectId = id("prj", "ProjectId")
export type ProjectId = typeof ProjectId.Type
export const IdentityId = id("idn", "IdentityId")
export type IdentityId = typeof IdentityId.Type
export const SessionId = id("ses", "SessionId")
export type SessionId = typeof SessionId.Type

export const ReportId = id("rpt", "ReportId")
export type ReportId = typeof ReportId.Type
export const FieldMapId = id("fmp", "FieldMapId")
export type FieldMapId = typeof FieldMapId.Type

/** Workflow ids have twelve hexadecimal digits instead of a ULID, by the specification. */
export const WorkflowId = Schema.String.pipe(
  Schema.pattern(/^wf_[0-9a-f]{12}$/, { message: () => "expected an id of the form wf_ and 12 hexadecimal digits" }),
  Schema.brand("WorkflowId")
)
export type WorkflowId = typeof WorkflowId.Type

/** The type of the ids of each prefix. */
export interface IdOf {
  readonly org: OrganisationId
  readonly spc: SpaceId
  readonly cus: CustomerId
  readonly key: ApiKeyId
  readonly sec: SecretId
  readonly usr: UserId
  readonly role: RoleId
  readonly env: EnvironmentId
  readonly rel: ReleaseId
  readonly exec: ExecutionId
  readonly blob: BlobId
  readonly aud: AuditId
  readonly dlv: DeliveryId
  readonly req: RequestId
  readonly inst: InstallationId
  readonly wdg: WidgetId
  readonly ems: EmbedSessionId
  readonly ctr: ConnectorId
  readonly aup: AuthProviderId
  readonly conn: ConnectionId
  readonly cred: CredentialId
  readonly cs: ConnectSessionId
  readonly evt: EventId
  readonly trg: TriggerId
  readonly rte: RouteId
  readonly dlq: DeadLetterId
  readonly rpl: ReplayId
  readonly whe: WebhookEndpointId
  readonly fmp: FieldMapId
  readonly rpt: ReportId
  readonly att: DeliveryAttemptId
  readonly ntf: NotificationId
  readonly apv: ApprovalId
  readonly team: TeamId
  readonly prj: ProjectId
  readonly idn: IdentityId
  readonly ses: SessionId
  readonly node: NodeId
}
export type IdPrefix = keyof IdOf

const alphabet = "0123456789abcdefghjkmnpqrstvwxyz"

/** The ten time characters of a ULID created at `millis` (Unix milliseconds): a lower bound of all later ids. */
export const ulidTime = (millis: number): string => {
  let rest = millis
  let out = ""
  for (let i = 0; i < 10; i++) {
    out = alphabet.charAt(rest % 32) + out
    rest = Math.floor(rest / 32)
  }
  return out
}

/** The creation time of an id with a ULID body, in Unix milliseconds. */
export const timeOfId = (value: string): number => {
  let millis = 0
  for (const letter of value.slice(value.indexOf("_") + 1, value.indexOf("_") + 11)) {
    millis = millis * 32 + alphabet.indexOf(letter)
  }
  return millis
}
