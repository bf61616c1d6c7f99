import { defaultPolicy } from '@org/agent-messaging-core'
import { z } from 'zod'
import * as value from './config-values.js'
import { ENDPOINT_NAMES } from '../listener/endpoints.js'

/** Documentation of a variable. `allowed` completes the sentence "the variable must be …". */
export type Variable = {
  readonly about: string
  readonly allowed: string
  readonly isSecret?: true
  /** The option of `dev` and `start` that overrides the variable. */
  readonly option?: string
}

export const variables = z.registry<Variable>()

const DAY_MS = 86_400_000
const PORT = 'a port from 0 to 65535 (0 picks a free port)'
const CREDENTIAL = '16 to 255 printable ASCII characters without spaces and commas'
const POSTGRES_URL = 'postgres://user:password@host/database'

const milliseconds = (min: number, max: number, byDefault: number, about: string) =>
  value
    .whole(min, max)
    .prefault(String(byDefault))
    .register(variables, { about, allowed: `a number of milliseconds from ${min} to ${max}` })

/** All settings. Validation, error messages, documentation and `.env.example` derive from them. */
export const environment = z.object({
  PORT: value.whole(0, 65_535).prefault('3000').register(variables, {
    about: 'Port to listen on.',
    allowed: PORT,
    option: '--port',
  }),
  HOST: value.host.prefault('127.0.0.1').register(variables, {
    about: 'Address to listen on. `0.0.0.0` or `::` listens on all addresses.',
    allowed: 'an IP address or a host name of this machine',
  }),
  SERVICE_DATABASE_URL: value.databaseUrl.optional().register(variables, {
    about:
      'SQLite file or PostgreSQL database. Required by `start`. `dev` uses a file in `data/` if unset. A PostgreSQL URL can name several hosts: see [Failover](scaling.md#failover).',
    allowed: `a file: URL such as file:data/agent-messaging.db, or ${POSTGRES_URL}`,
  }),
  SERVICE_DATABASE_DIRECT_URL: value.postgresUrl.optional().register(variables, {
    about:
      'URL of the same database that bypasses a transaction pooler such as PgBouncer. Long-lived connections use this URL.',
    allowed: POSTGRES_URL,
  }),
  SERVICE_DATABASE_CONNECTIONS: value.whole(2, 100).prefault('10').register(variables, {
    about:
      'Connections of this process to PostgreSQL, besides one for wake-ups and one for leases.',
    allowed: 'a whole number from 2 to 100',
  }),
  SERVICE_MASTER_KEY: value.masterKey.optional().register(variables, {
    about:
      'Encrypts webhook and runtime secrets, which are lost without this key. Required by `start`. `dev` keeps a key in `data/` if unset.',
    allowed: '32 bytes as base64 or hex, such as the output of `openssl rand -base64 32`',
    isSecret: true,
  }),
  SERVICE_OTHER_MASTER_KEYS: value.masterKeys.optional().register(variables, {
    about:
      'Old master keys that can still decrypt secrets. Needed until `agent-messaging reseal` is done.',
    allowed: 'one or more keys in the format of SERVICE_MASTER_KEY, separated by commas',
    isSecret: true,
  }),
  SERVICE_PUBLIC_URL: value.publicUrl.optional().register(variables, {
    about:
      'URL at which others reach this server. Agents receive it for their callbacks, and events ' +
      'for links to questions.',
    allowed: 'an http: or https: URL without query and fragment',
  }),
  SERVICE_BOOTSTRAP_API_KEY: value.bootstrapKey.optional().register(variables, {
    about:
      'API key with all permissions for the project `default`. The server creates both at startup. An earlier bootstrap key stays valid until you revoke it.',
    allowed: '20 to 255 printable ASCII characters without spaces and commas',
    isSecret: true,
  }),
  CRON_SECRET: value.credential.optional().register(variables, {
    about: 'Bearer token for `/api/cron/webhooks`. If unset, the route refuses all calls.',
    allowed: CREDENTIAL,
    isSecret: true,
  }),
  SERVICE_OPERATOR_KEY: value.credential.optional().register(variables, {
    about:
      'Bearer token for `/v1/projects` and `/v1/operator/audit-log`, and opens the projects in the console. If unset, all of these refuse.',
    allowed: CREDENTIAL,
    isSecret: true,
  }),
  SERVICE_CRON_BUDGET_MS: milliseconds(
    100,
    600_000,
    10_000,
    'Time limit of one call of the cron route.',
  ),
  SERVICE_METRICS_TOKEN: value.credential.optional().register(variables, {
    about:
      'Bearer token for `/metrics`. If unset, only `dev` on a loopback address serves `/metrics`.',
    allowed: CREDENTIAL,
    isSecret: true,
  }),
  SERVICE_METRICS_PORT: value.whole(0, 65_535).optional().register(variables, {
    about: 'Second port on HOST that serves only `/metrics`, without a token.',
    allowed: PORT,
  }),
  SERVICE_TRUSTED_PROXIES: value.cidrs.optional().register(variables, {
    about:
      'Proxies in front of this server. Their `X-Forwarded-For` header names the caller whose wrong credentials are counted.',
    allowed: 'address ranges, such as 10.0.0.0/8,fd00::/8',
  }),
  SERVICE_CONSOLE: z.enum(['on', 'off']).optional().register(variables, {
    about:
      'Serves the console for operators at `/console`. If unset: `on` in `dev`, `off` in `start`.',
    allowed: 'on or off',
  }),
  SERVICE_PORTAL_NAME: z.string().max(60).optional().register(variables, {
    about: 'Name of your platform on the pages that portal links open.',
    allowed: 'up to 60 characters',
  }),
  SERVICE_PORTAL_LOGO: z
    .string()
    .regex(/\.(svg|png)$/i)
    .optional()
    .register(variables, {
      about: 'Logo of your platform on these pages, shown 20 pixels high.',
      allowed: 'the path of an .svg or .png file of at most 256 KiB',
    }),
  SERVICE_PORTAL_ACCENT: value.accent.optional().register(variables, {
    about: 'Colors of links and buttons on these pages.',
    allowed:
      'two colors such as #3450c4,#9db1ff, for light and for dark pages, each with a contrast of 4.5 or more to the page',
  }),
  SERVICE_PORTAL_RETURN_ORIGINS: value.origins.optional().register(variables, {
    about: 'Origins that the `returnUrl` of a portal link can have. If unset: none.',
    allowed: 'origins such as https://app.example.com, separated by commas',
  }),
  SERVICE_PORTAL_FRAME_ORIGINS: value.origins.optional().register(variables, {
    about: 'Origins whose pages can show the portal in a frame. If unset: none.',
    allowed: 'origins such as https://app.example.com, separated by commas',
  }),
  SERVICE_ENDPOINTS: value
    .names(ENDPOINT_NAMES)
    .optional()
    .register(variables, {
      about: 'Other protocols that the server speaks: `/a2a/{agent}`, `/mcp`, `/openai/v1`.',
      allowed: `one or more of ${ENDPOINT_NAMES.join(', ')}, separated by commas`,
    }),
  SERVICE_WEBHOOK_THREAD: z.enum(['on', 'off']).optional().register(variables, {
    about:
      'Signs and sends webhooks in a separate thread. If unset: `on` with two or more processors.',
    allowed: 'on or off',
  }),
  SERVICE_SYNC_MESSAGE_TIMEOUT_MS: milliseconds(
    0,
    600_000,
    30_000,
    'How long a send waits for the answer before it returns 202.',
  ),
  SERVICE_IDEMPOTENCY_MISMATCH: z.enum(['reuse', 'reject']).prefault('reuse').register(variables, {
    about:
      'Response to an Idempotency-Key that is used again in its session with another body: the first message (`reuse`) or 422 (`reject`). In another session, always 422.',
    allowed: 'reuse or reject',
  }),
  SERVICE_QUOTAS: z.enum(['on', 'off']).prefault('off').register(variables, {
    about: 'Counts the usage of each project, and keeps the limits of sends.',
    allowed: 'on or off',
  }),
  SERVICE_PROJECT_MESSAGES_PER_MINUTE: value.whole(1, 10_000_000).optional().register(variables, {
    about:
      'Most messages of a project per minute, also at once. Needs SERVICE_QUOTAS. If unset: no limit.',
    allowed: 'a whole number from 1 to 10000000',
  }),
  SERVICE_KEY_MESSAGES_PER_MINUTE: value.whole(1, 10_000_000).optional().register(variables, {
    about:
      'Most messages of an API key per minute, also at once. Needs SERVICE_QUOTAS. If unset: no limit.',
    allowed: 'a whole number from 1 to 10000000',
  }),
  SERVICE_SEND_QUEUE_MS: milliseconds(
    1,
    600_000,
    defaultPolicy.sendQueue.maxWaitMs,
    'A send that waits longer for the storage is refused with 503.',
  ),
  SERVICE_RUN_TIMEOUT_MS: milliseconds(
    100,
    DAY_MS,
    defaultPolicy.dispatch.runTimeoutMs,
    'Time limit of one run of an agent.',
  ),
  SERVICE_RUN_LEASE_MS: milliseconds(
    1_000,
    DAY_MS,
    defaultPolicy.runLeaseMs,
    'After a process has died, its runs start again after this time.',
  ),
  SERVICE_CALLBACK_TIMEOUT: value
    .duration(1_000, 365 * DAY_MS)
    .prefault(asDuration(defaultPolicy.dispatch.deferredTimeoutMs))
    .register(variables, {
      about: 'Time limit for an agent that answers by callback.',
      allowed: '1s to 365d (units ms, s, m, h, d)',
    }),
  SERVICE_WEBHOOK_RETRY_SCHEDULE: value.schedule
    .prefault(defaultPolicy.retry.delaysMs.map(asDuration).join(','))
    .register(variables, {
      about: 'Delays between the attempts of a delivery.',
      allowed: 'up to 50 delays of at most 30d, such as 5s,5m,2h (units ms, s, m, h, d)',
    }),
  SERVICE_WEBHOOK_MAX_CONCURRENCY: value.whole(1, 1_000).optional().register(variables, {
    about:
      'Most requests at a time to a webhook without this setting, over all processes. If unset: adapts to the receiver.',
    allowed: 'a whole number from 1 to 1000',
  }),
  SERVICE_WEBHOOK_REQUESTS_PER_SECOND: value.decimal(0.01, 10_000).optional().register(variables, {
    about:
      'Most requests per second to a webhook without this setting, over all processes. If unset: adapts to the receiver.',
    allowed: 'a number from 0.01 to 10000, such as 0.5',
  }),
  SERVICE_WEBHOOK_DISABLE_AFTER: value
    .duration(60_000, 365 * DAY_MS)
    .prefault(asDuration(defaultPolicy.webhookHealth.disableAfterMs))
    .register(variables, {
      about: 'A webhook is disabled after it has only failed for this time.',
      allowed: '1m to 365d (units ms, s, m, h, d)',
    }),
  SERVICE_WEBHOOK_ALLOWED_CIDRS: value.cidrs.optional().register(variables, {
    about:
      'Non-public addresses that webhooks and remote agents can use. `dev` also allows loopback addresses.',
    allowed: 'address ranges, such as 10.1.0.0/16,fd00::/8',
  }),
  SERVICE_OUTBOUND_PROXY: value.proxyUrl.optional().register(variables, {
    about:
      'Forward proxy for webhooks and remote agents. It gets CONNECT with an address that the service resolved and checked.',
    allowed: 'a URL such as http://user:password@proxy.internal:3128',
    isSecret: true,
  }),
  SERVICE_DELIVERY_TIMEOUT_MS: milliseconds(
    100,
    300_000,
    defaultPolicy.deliver.deadlineMs,
    'Time limit of one delivery attempt.',
  ),
  SERVICE_DELIVERY_LEASE_MS: milliseconds(
    1_000,
    DAY_MS,
    defaultPolicy.deliver.leaseMs,
    'After a process has died, its delivery attempts are repeated after this time. Must exceed SERVICE_DELIVERY_TIMEOUT_MS.',
  ),
  SERVICE_DELIVERY_RETENTION: value.retention
    .prefault(asDuration(defaultPolicy.retention.deliveriesMs))
    .register(variables, {
      about: 'How long finished deliveries and their attempts are kept. `off` keeps them forever.',
      allowed: 'off, or 1s to 3650d (units ms, s, m, h, d)',
    }),
  SERVICE_MESSAGE_RETENTION: value.retention.prefault('off').register(variables, {
    about:
      'How long answered and failed messages and their idempotency keys are kept. `off` keeps them forever.',
    allowed: 'off, or 1s to 3650d (units ms, s, m, h, d)',
  }),
  SERVICE_EVENT_RETENTION: value.retention
    .prefault(asDuration(defaultPolicy.retention.eventsMs))
    .register(variables, {
      about:
        'How long events are kept for `GET /v1/events`. An event with deliveries stays as long as they do. `off` keeps events forever.',
      allowed: 'off, or 1s to 3650d (units ms, s, m, h, d)',
    }),
  SERVICE_HEADER_PREFIX: value.headerToken
    .prefault(defaultPolicy.headerPrefix)
    .register(variables, {
      about: 'Prefix of the header names in webhook requests.',
      allowed: 'an HTTP header name',
    }),
  SERVICE_LOG_LEVEL: z
    .enum(['debug', 'info', 'warn', 'error', 'silent'])
    .optional()
    .register(variables, {
      about: 'Lowest level that is logged. If unset: `info` in `start`, `warn` in `dev`.',
      allowed: 'debug, info, warn, error or silent',
    }),
  // The default is below the 10 s after which `docker stop` kills the process.
  SERVICE_SHUTDOWN_GRACE_MS: milliseconds(
    0,
    3_600_000,
    8_000,
    'How long runs and requests can continue after SIGTERM.',
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
