import { defaultPolicy } from '@org/agent-messaging-core'
import { z } from 'zod'
import * as value from './config-values.js'
import { EVENT_NAMES } from '@org/agent-messaging-core'
import { ENDPOINT_NAMES } from '@org/agent-messaging-node/endpoints'

/** Documentation of a variable. `allowed` completes the sentence "the variable must be …". */
export type Variable = {
  readonly about: string
  readonly allowed: string
  readonly isSecret?: true
  /** The option of `dev` and `start` that overrides the variable. */
  readonly option?: string
}

export const variables = new Map<z.ZodType, Variable>()

type More = Omit<Variable, 'about' | 'allowed'>
const SECRET: More = { isSecret: true }
const DAY_MS = 86_400_000
const POSTGRES_URL = 'postgres://user:password@host/database'

/** A variable without a default. */
function optional<T extends z.ZodType>(about: string, type: T, allowed: string, more?: More) {
  const schema = z.optional(type)
  variables.set(schema, { about, allowed, ...more })
  return schema
}

function preset<T extends z.ZodType>(
  byDefault: string | number,
  about: string,
  type: T,
  allowed: string,
  more?: More,
): z.ZodPrefault<T> {
  const schema = z.prefault(type, String(byDefault) as z.input<T>)
  variables.set(schema, { about, allowed, ...more })
  return schema
}

// Each parser that has limits or serves several variables, with its allowed values for people.

const whole = (min: number, max: number) =>
  [value.whole(min, max), `a whole number from ${min} to ${max}`] as const
const milliseconds = (min: number, max: number) =>
  [value.whole(min, max), `a number of milliseconds from ${min} to ${max}`] as const
const duration = (min: number, max: number) =>
  [
    value.duration(min, max),
    `${asDuration(min)} to ${asDuration(max)} (units ms, s, m, h, d)`,
  ] as const
const choice = <const Names extends readonly string[]>(...names: Names) =>
  [z.enum(names), names.join(', ').replace(/, (?=\w+$)/, ' or ')] as const
const PORT_NUMBER = [
  value.whole(0, 65_535),
  'a port from 0 to 65535 (0 picks a free port)',
] as const
const CREDENTIAL = [
  value.credential,
  '16 to 255 printable ASCII characters without spaces and commas',
] as const
const RETENTION = [value.retention, 'off, or 1s to 3650d (units ms, s, m, h, d)'] as const
const ORIGINS = [
  value.origins,
  'origins such as https://app.example.com, separated by commas',
] as const

/** All settings. Validation, error messages, documentation and `.env.example` derive from them. */
export const environment = z.object({
  PORT: preset(3000, 'Port to listen on.', ...PORT_NUMBER, { option: '--port' }),
  HOST: preset(
    '127.0.0.1',
    'Address to listen on. `0.0.0.0` or `::` listens on all addresses.',
    value.host,
    'an IP address or a host name of this machine',
  ),
  SERVICE_DATABASE_URL: optional(
    'SQLite file or PostgreSQL database. Required by `start`. `dev` uses a file in `data/` if unset. A PostgreSQL URL can name several hosts: see [Failover](scaling.md#failover).',
    value.databaseUrl,
    `a file: URL such as file:data/agent-messaging.db, or ${POSTGRES_URL}`,
  ),
  SERVICE_DATABASE_DIRECT_URL: optional(
    'URL of the same database that bypasses a transaction pooler such as PgBouncer. Long-lived connections use this URL.',
    value.postgresUrl,
    POSTGRES_URL,
  ),
  SERVICE_DATABASE_CONNECTIONS: preset(
    10,
    'Connections of this process to PostgreSQL, besides one for wake-ups and one for leases.',
    ...whole(2, 100),
  ),
  SERVICE_MASTER_KEY: optional(
    'Encrypts webhook and runtime secrets, which are lost without this key. Required by `start`. `dev` keeps a key in `data/` if unset.',
    value.masterKey,
    '32 bytes as base64 or hex, such as the output of `openssl rand -base64 32`',
    SECRET,
  ),
  SERVICE_OTHER_MASTER_KEYS: optional(
    'Old master keys that can still decrypt secrets. Needed until `agent-messaging reseal` is done.',
    value.masterKeys,
    'one or more keys in the format of SERVICE_MASTER_KEY, separated by commas',
    SECRET,
  ),
  SERVICE_PUBLIC_URL: optional(
    'URL at which others reach this server. Agents receive it for their callbacks, and events for links to questions and in thin bodies.',
    value.publicUrl,
    'an http: or https: URL without query and fragment',
  ),
  SERVICE_BOOTSTRAP_API_KEY: optional(
    'API key with all permissions for the project `default`. The server creates both at startup. An earlier bootstrap key stays valid until you revoke it.',
    value.bootstrapKey,
    '20 to 255 printable ASCII characters without spaces and commas',
    SECRET,
  ),
  CRON_SECRET: optional(
    'Bearer token for `/api/cron/webhooks`. If unset, the route refuses all calls.',
    ...CREDENTIAL,
    SECRET,
  ),
  SERVICE_OPERATOR_KEY: optional(
    'Bearer token for `/v1/projects` and `/v1/operator`, and opens the projects in the console. If unset, all of these refuse.',
    ...CREDENTIAL,
    SECRET,
  ),
  SERVICE_CRON_BUDGET_MS: preset(
    10_000,
    'Time limit of one call of the cron route.',
    ...milliseconds(100, 600_000),
  ),
  SERVICE_METRICS_TOKEN: optional(
    'Bearer token for `/metrics`. If unset, only `dev` on a loopback address serves `/metrics`.',
    ...CREDENTIAL,
    SECRET,
  ),
  SERVICE_METRICS_PORT: optional(
    'Second port on HOST that serves only `/metrics`, without a token.',
    ...PORT_NUMBER,
  ),
  SERVICE_TRUSTED_PROXIES: optional(
    'Proxies in front of this server. Their `X-Forwarded-For` header names the caller whose wrong credentials are counted.',
    value.cidrs,
    'address ranges, such as 10.0.0.0/8,fd00::/8',
  ),
  SERVICE_CONSOLE: optional(
    'Serves the console for operators at `/console`. If unset: `on` in `dev`, `off` in `start`.',
    ...choice('on', 'off'),
  ),
  SERVICE_PORTAL_NAME: optional(
    'Name of your platform on the pages of portal links and one-time links.',
    z.string().max(60),
    'up to 60 characters',
  ),
  SERVICE_PORTAL_LOGO: optional(
    'Logo of your platform on these pages.',
    z.string().regex(/\.(svg|png)$/i),
    'the path of an .svg or .png file of at most 256 KiB',
  ),
  SERVICE_PORTAL_ACCENT: optional(
    'Colors of links and buttons on these pages.',
    value.accent,
    'two colors such as #3450c4,#9db1ff, for light and for dark pages, each with a contrast of 4.5 or more to the page',
  ),
  SERVICE_PORTAL_RETURN_ORIGINS: optional(
    'Origins that the `returnUrl` of a portal link can have. If unset: none.',
    ...ORIGINS,
  ),
  SERVICE_PORTAL_FRAME_ORIGINS: optional(
    'Origins whose pages can show the portal in a frame. If unset: none.',
    ...ORIGINS,
  ),
  SERVICE_PORTAL_EVENTS: optional(
    'Events that customers see in the portal. If unset: all.',
    value.names(EVENT_NAMES),
    'names of events, separated by commas',
  ),
  SERVICE_CORS_ORIGINS: optional(
    'Origins of web pages that can call the API and the endpoints, with a session token. If unset: none.',
    ...ORIGINS,
  ),
  SERVICE_ENDPOINTS: optional(
    'Other protocols that the server speaks: `/a2a/{agent}`, `/ag-ui/v1`, `/ai-sdk/v1`, `/mcp`, `/openai/v1`. `mcp-publish` is `mcp` with the tool `publish_event`.',
    value.names(ENDPOINT_NAMES),
    `one or more of ${ENDPOINT_NAMES.join(', ')}, separated by commas`,
  ),
  SERVICE_WEBHOOK_THREAD: optional(
    'Signs and sends webhooks in a separate thread. If unset: `on` with two or more processors.',
    ...choice('on', 'off'),
  ),
  SERVICE_SYNC_MESSAGE_TIMEOUT_MS: preset(
    30_000,
    'How long a send waits for the answer before it returns 202.',
    ...milliseconds(0, 600_000),
  ),
  SERVICE_IDEMPOTENCY_MISMATCH: preset(
    'reuse',
    'Response to an Idempotency-Key that is used again in its session with another body: the first message (`reuse`) or 422 (`reject`). In another session, always 422.',
    ...choice('reuse', 'reject'),
  ),
  SERVICE_STRICT_EVENT_TYPES: preset(
    'off',
    'Refuses published events whose type is not in the catalogue, or whose data does not match its schema.',
    ...choice('on', 'off'),
  ),
  SERVICE_QUOTAS: preset(
    'off',
    'Keeps the limits of sends and of published events.',
    ...choice('on', 'off'),
  ),
  SERVICE_PROJECT_MESSAGES_PER_MINUTE: optional(
    'Most messages of a project per minute, also at once. Needs SERVICE_QUOTAS. If unset: no limit.',
    ...whole(1, 10_000_000),
  ),
  SERVICE_KEY_MESSAGES_PER_MINUTE: optional(
    'Most messages of an API key per minute, also at once. Needs SERVICE_QUOTAS. If unset: no limit.',
    ...whole(1, 10_000_000),
  ),
  SERVICE_PROJECT_EVENTS_PER_MINUTE: optional(
    'Most published events of a project per minute, also at once. Needs SERVICE_QUOTAS. If unset: no limit.',
    ...whole(1, 10_000_000),
  ),
  SERVICE_SEND_QUEUE_MS: preset(
    defaultPolicy.sendQueue.maxWaitMs,
    'A send that waits longer for the storage is refused with 503.',
    ...milliseconds(1, 600_000),
  ),
  SERVICE_RUN_TIMEOUT_MS: preset(
    defaultPolicy.dispatch.runTimeoutMs,
    'Time limit of one run of an agent.',
    ...milliseconds(100, DAY_MS),
  ),
  SERVICE_RUN_LEASE_MS: preset(
    defaultPolicy.runLeaseMs,
    'After a process has died, its runs start again after this time.',
    ...milliseconds(1_000, DAY_MS),
  ),
  SERVICE_CALLBACK_TIMEOUT: preset(
    asDuration(defaultPolicy.dispatch.deferredTimeoutMs),
    'Time limit for an agent that answers by callback.',
    ...duration(1_000, 365 * DAY_MS),
  ),
  SERVICE_WEBHOOK_RETRY_SCHEDULE: preset(
    defaultPolicy.retry.delaysMs.map(asDuration).join(','),
    'Delays between the attempts of a delivery.',
    value.schedule,
    'up to 50 delays of at most 30d, such as 5s,5m,2h (units ms, s, m, h, d)',
  ),
  SERVICE_WEBHOOK_MAX_CONCURRENCY: optional(
    'Most requests at a time to a webhook without this setting, over all processes. If unset: adapts to the receiver.',
    ...whole(1, 1_000),
  ),
  SERVICE_WEBHOOK_REQUESTS_PER_SECOND: optional(
    'Most requests per second to a webhook without this setting, over all processes. If unset: adapts to the receiver.',
    value.decimal(0.01, 10_000),
    'a number from 0.01 to 10000, such as 0.5',
  ),
  SERVICE_WEBHOOK_DISABLE_AFTER: preset(
    asDuration(defaultPolicy.webhookHealth.disableAfterMs),
    'A webhook is disabled after it has only failed for this time.',
    ...duration(60_000, 365 * DAY_MS),
  ),
  SERVICE_WEBHOOK_ALLOWED_CIDRS: optional(
    'Non-public addresses that webhooks and remote agents can use. `dev` also allows loopback addresses.',
    value.cidrs,
    'address ranges, such as 10.1.0.0/16,fd00::/8',
  ),
  SERVICE_OUTBOUND_PROXY: optional(
    'Forward proxy for webhooks and remote agents. It gets CONNECT with an address that the service resolved and checked.',
    value.proxyUrl,
    'a URL such as http://user:password@proxy.internal:3128',
    SECRET,
  ),
  SERVICE_DELIVERY_TIMEOUT_MS: preset(
    defaultPolicy.deliver.deadlineMs,
    'Time limit of one delivery attempt.',
    ...milliseconds(100, 300_000),
  ),
  SERVICE_DELIVERY_LEASE_MS: preset(
    defaultPolicy.deliver.leaseMs,
    'After a process has died, its delivery attempts are repeated after this time. Must exceed SERVICE_DELIVERY_TIMEOUT_MS.',
    ...milliseconds(1_000, DAY_MS),
  ),
  SERVICE_DELIVERY_RETENTION: preset(
    asDuration(defaultPolicy.retention.deliveriesMs),
    'How long finished deliveries and their attempts are kept. `off` keeps them forever.',
    ...RETENTION,
  ),
  SERVICE_MESSAGE_RETENTION: preset(
    'off',
    'How long answered and failed messages and their idempotency keys are kept. `off` keeps them forever.',
    ...RETENTION,
  ),
  SERVICE_EVENT_RETENTION: preset(
    asDuration(defaultPolicy.retention.eventsMs),
    'How long events are kept for `GET /v1/events`. An event with deliveries stays as long as they do. `off` keeps events forever.',
    ...RETENTION,
  ),
  SERVICE_HEADER_PREFIX: preset(
    defaultPolicy.headerPrefix,
    'Prefix of the header names in webhook requests.',
    value.headerToken,
    'an HTTP header name',
  ),
  SERVICE_LOG_LEVEL: optional(
    'Lowest level that is logged. If unset: `info` in `start`, `warn` in `dev`.',
    ...choice('debug', 'info', 'warn', 'error', 'silent'),
  ),
  // The default is below the 10 s after which `docker stop` kills the process.
  SERVICE_SHUTDOWN_GRACE_MS: preset(
    8_000,
    'How long runs and requests can continue after SIGTERM.',
    ...milliseconds(0, 3_600_000),
  ),
})

export type Environment = z.output<typeof environment>
export type VariableName = keyof Environment

/** The rest of the sentence "<name> must be …". */
export const allowedValue = (name: VariableName): string =>
  variables.get(environment.shape[name])?.allowed ?? ''

/** The variable, and the option that overrides it. */
export function waysToSet(name: VariableName): string {
  const option = variables.get(environment.shape[name])?.option
  return option === undefined ? name : `${option} or ${name}`
}

function asDuration(ms: number) {
  if (ms % DAY_MS === 0 && ms > DAY_MS) return `${ms / DAY_MS}d`
  if (ms % 3_600_000 === 0) return `${ms / 3_600_000}h`
  return ms % 60_000 === 0 ? `${ms / 60_000}m` : `${ms / 1_000}s`
}
