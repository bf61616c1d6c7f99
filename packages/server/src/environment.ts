import { defaultPolicy } from '@org/agent-messaging-core'
import { z } from 'zod'
import * as value from './config-values.js'

/** What an operator reads about a variable. `takes` ends the sentence "it takes …". */
export type Variable = { readonly about: string; readonly takes: string; readonly isSecret?: true }

export const variables = z.registry<Variable>()

const DAY_MS = 86_400_000
const milliseconds = (min: number, max: number, byDefault: number, about: string) =>
  value
    .whole(min, max)
    .prefault(String(byDefault))
    .register(variables, { about, takes: `milliseconds, ${min} to ${max}` })

/** Every setting of the server. The checks, the error lines, the documentation and `.env.example` all come from here. */
export const environment = z.object({
  PORT: value.whole(0, 65_535).prefault('3000').register(variables, {
    about: 'Port to listen on.',
    takes: 'a port, 0 to 65535 (0: any free one)',
  }),
  HOST: value.host.prefault('127.0.0.1').register(variables, {
    about: 'Address to listen on; `0.0.0.0` or `::` for all.',
    takes: 'an IP address or a host name of this machine',
  }),
  SERVICE_DATABASE_URL: value.databaseUrl.optional().register(variables, {
    about:
      'The database: a SQLite file, or PostgreSQL. `dev` keeps a file in `data/`; `start` needs this.',
    takes:
      'file: and a path, such as file:data/agent-messaging.db, or postgres://user:password@host/database',
  }),
  SERVICE_DATABASE_DIRECT_URL: value.postgresUrl.optional().register(variables, {
    about:
      'The same database past a pooler of transactions, such as PgBouncer: for the few connections that live as long as the process.',
    takes: 'postgres://user:password@host/database',
  }),
  SERVICE_MASTER_KEY: value.masterKey.optional().register(variables, {
    about:
      'Encrypts webhook and runtime secrets; losing it loses them. `dev` keeps one in `data/`; `start` needs this.',
    takes: '32 bytes as base64 or hex, such as `openssl rand -base64 32` makes',
    isSecret: true,
  }),
  SERVICE_OTHER_MASTER_KEYS: value.masterKeys.optional().register(variables, {
    about:
      'While one master key replaces another: those that open what they have encrypted, until `agent-messaging reseal` is done.',
    takes: 'one or more keys such as SERVICE_MASTER_KEY has, with commas between them',
    isSecret: true,
  }),
  SERVICE_PUBLIC_URL: value.publicUrl.optional().register(variables, {
    about: 'Where others reach this server; runtimes that answer later are told it.',
    takes: 'an http: or https: URL without query and fragment',
  }),
  SERVICE_BOOTSTRAP_API_KEY: value.bootstrapKey.optional().register(variables, {
    about:
      'An API key with all permissions for the project `default`; both are made at the start if they are missing. One of before stays good until it is revoked.',
    takes: '20 to 255 printable ASCII characters without space and comma',
    isSecret: true,
  }),
  CRON_SECRET: value.credential.optional().register(variables, {
    about: 'Opens `/api/cron/webhooks`; unset, that route is closed.',
    takes: '1 to 255 printable ASCII characters without space and comma',
    isSecret: true,
  }),
  SERVICE_CRON_BUDGET_MS: milliseconds(
    100,
    600_000,
    10_000,
    'How long one call of the cron route may work and wait for what it began.',
  ),
  SERVICE_METRICS_TOKEN: value.credential.optional().register(variables, {
    about:
      'Opens `/metrics` to who sends it as a bearer token; unset, that route is there in `dev` alone, on a loopback address.',
    takes: '1 to 255 printable ASCII characters without space and comma',
    isSecret: true,
  }),
  SERVICE_METRICS_PORT: value.whole(0, 65_535).optional().register(variables, {
    about: 'Port of HOST that serves `/metrics` and nothing else, to everybody who reaches it.',
    takes: 'a port, 0 to 65535 (0: any free one)',
  }),
  SERVICE_CONSOLE: z.enum(['on', 'off']).optional().register(variables, {
    about:
      'The pages for operators at `/console`, for who signs in with an API key; `on` in `dev`, `off` otherwise unless set.',
    takes: 'on or off',
  }),
  SERVICE_WEBHOOK_THREAD: z.enum(['on', 'off']).optional().register(variables, {
    about:
      'Whether webhooks are signed and sent in a thread of their own; where there are two processors, unless set.',
    takes: 'on or off',
  }),
  SERVICE_SYNC_MESSAGE_TIMEOUT_MS: milliseconds(
    0,
    600_000,
    30_000,
    'How long a send waits for its answer before it gets 202.',
  ),
  SERVICE_IDEMPOTENCY_MISMATCH: z.enum(['reuse', 'reject']).prefault('reuse').register(variables, {
    about: 'An Idempotency-Key used again with another body: the first message, or 422.',
    takes: 'reuse or reject',
  }),
  SERVICE_RUN_TIMEOUT_MS: milliseconds(
    100,
    DAY_MS,
    defaultPolicy.dispatch.runTimeoutMs,
    'Deadline of one run of an agent.',
  ),
  SERVICE_RUN_LEASE_MS: milliseconds(
    1_000,
    DAY_MS,
    defaultPolicy.runLeaseMs,
    'How long after the death of its process a run is begun again.',
  ),
  SERVICE_CALLBACK_TIMEOUT: value
    .duration(1_000, 365 * DAY_MS)
    .prefault(asDuration(defaultPolicy.dispatch.deferredTimeoutMs))
    .register(variables, {
      about: 'How long an agent that answers by callback may take.',
      takes: '1s to 365d (units ms, s, m, h, d)',
    }),
  SERVICE_WEBHOOK_RETRY_SCHEDULE: value.schedule
    .prefault(defaultPolicy.retry.delaysMs.map(asDuration).join(','))
    .register(variables, {
      about: 'Waits between the attempts of a delivery.',
      takes: 'up to 50 waits of at most 30d, such as 5s,5m,2h (units ms, s, m, h, d)',
    }),
  SERVICE_WEBHOOK_DISABLE_AFTER: value
    .duration(60_000, 365 * DAY_MS)
    .prefault(asDuration(defaultPolicy.webhookHealth.disableAfterMs))
    .register(variables, {
      about: 'Nothing but failure for so long disables a webhook.',
      takes: '1m to 365d (units ms, s, m, h, d)',
    }),
  SERVICE_WEBHOOK_ALLOWED_CIDRS: value.cidrs.optional().register(variables, {
    about:
      'Non-public addresses that webhooks and HTTP runtimes may be at. `dev` allows the loopback addresses.',
    takes: 'address ranges, such as 10.1.0.0/16,fd00::/8',
  }),
  SERVICE_DELIVERY_TIMEOUT_MS: milliseconds(
    100,
    300_000,
    defaultPolicy.deliver.deadlineMs,
    'Deadline of one attempt of a delivery.',
  ),
  SERVICE_DELIVERY_LEASE_MS: milliseconds(
    1_000,
    DAY_MS,
    defaultPolicy.deliver.leaseMs,
    'How long after the death of its process an attempt is made again; longer than SERVICE_DELIVERY_TIMEOUT_MS.',
  ),
  SERVICE_DELIVERY_RETENTION: value.retention
    .prefault(asDuration(defaultPolicy.retention.deliveriesMs))
    .register(variables, {
      about: 'How long finished deliveries are kept, with their attempts; `off`: for ever.',
      takes: 'off, or 1s to 3650d (units ms, s, m, h, d)',
    }),
  SERVICE_MESSAGE_RETENTION: value.retention.prefault('off').register(variables, {
    about:
      'How long answered and failed messages are kept, with their idempotency keys; `off`: for ever.',
    takes: 'off, or 1s to 3650d (units ms, s, m, h, d)',
  }),
  SERVICE_HEADER_PREFIX: value.headerToken
    .prefault(defaultPolicy.headerPrefix)
    .register(variables, {
      about: 'Begins the names of the headers of webhook requests.',
      takes: 'an HTTP header name',
    }),
  SERVICE_LOG_LEVEL: z
    .enum(['debug', 'info', 'warn', 'error', 'silent'])
    .optional()
    .register(variables, {
      about: 'What is logged; `info` unless set, `warn` in `dev`.',
      takes: 'debug, info, warn, error or silent',
    }),
  // The default is a little below the 10 s after which `docker stop` kills.
  SERVICE_SHUTDOWN_GRACE_MS: milliseconds(
    0,
    3_600_000,
    8_000,
    'How long runs and requests may go on after SIGTERM.',
  ),
})

export type Environment = z.output<typeof environment>
export type VariableName = keyof Environment

/** What a variable takes, as the end of a sentence. */
export const takes = (name: VariableName): string =>
  variables.get(environment.shape[name])?.takes ?? ''

function asDuration(ms: number): string {
  if (ms % DAY_MS === 0 && ms > DAY_MS) return `${ms / DAY_MS}d`
  if (ms % 3_600_000 === 0) return `${ms / 3_600_000}h`
  return ms % 60_000 === 0 ? `${ms / 60_000}m` : `${ms / 1_000}s`
}
