import { defaultPolicy, type Policy } from '@org/agent-messaging-core'
import type { QuotaPolicy } from '@org/agent-messaging-core/host'
import { err, ok, type Result } from 'neverthrow'
import type { z } from 'zod'
import { OperatorError } from '../operator-error.js'
import {
  allowedValue,
  environment,
  variables,
  type Environment,
  type VariableName,
} from './environment.js'

/** The parsed settings. */
export type Config = ReturnType<typeof configOf>

function configOf(env: Environment) {
  return {
    port: env.PORT,
    host: env.HOST,
    databasePath: env.SERVICE_DATABASE_URL,
    databaseDirectUrl: env.SERVICE_DATABASE_DIRECT_URL,
    databaseConnections: env.SERVICE_DATABASE_CONNECTIONS,
    masterKey: env.SERVICE_MASTER_KEY,
    otherMasterKeys: env.SERVICE_OTHER_MASTER_KEYS,
    publicUrl: env.SERVICE_PUBLIC_URL,
    bootstrapApiKey: env.SERVICE_BOOTSTRAP_API_KEY,
    cronSecret: env.CRON_SECRET,
    operatorKey: env.SERVICE_OPERATOR_KEY,
    cronBudgetMs: env.SERVICE_CRON_BUDGET_MS,
    console: env.SERVICE_CONSOLE,
    portal: {
      name: env.SERVICE_PORTAL_NAME,
      logo: env.SERVICE_PORTAL_LOGO,
      accent: env.SERVICE_PORTAL_ACCENT,
      returnOrigins: env.SERVICE_PORTAL_RETURN_ORIGINS,
      frameOrigins: env.SERVICE_PORTAL_FRAME_ORIGINS,
      events: env.SERVICE_PORTAL_EVENTS,
    },
    corsOrigins: env.SERVICE_CORS_ORIGINS,
    endpoints: env.SERVICE_ENDPOINTS,
    webhookThread: env.SERVICE_WEBHOOK_THREAD && env.SERVICE_WEBHOOK_THREAD === 'on',
    metricsToken: env.SERVICE_METRICS_TOKEN,
    metricsPort: env.SERVICE_METRICS_PORT,
    trustedProxies: env.SERVICE_TRUSTED_PROXIES,
    allowedCidrs: env.SERVICE_WEBHOOK_ALLOWED_CIDRS,
    proxy: env.SERVICE_OUTBOUND_PROXY,
    logLevel: env.SERVICE_LOG_LEVEL,
    shutdownGraceMs: env.SERVICE_SHUTDOWN_GRACE_MS,
    policy: policyOf(env),
  }
}

const policyOf = (env: Environment): Partial<Policy> => ({
  syncWaitMs: env.SERVICE_SYNC_MESSAGE_TIMEOUT_MS,
  onKeyMismatch: env.SERVICE_IDEMPOTENCY_MISMATCH,
  strictEventTypes: env.SERVICE_STRICT_EVENT_TYPES === 'on',
  sendQueue: { ...defaultPolicy.sendQueue, maxWaitMs: env.SERVICE_SEND_QUEUE_MS },
  dispatch: {
    ...defaultPolicy.dispatch,
    runTimeoutMs: env.SERVICE_RUN_TIMEOUT_MS,
    deferredTimeoutMs: env.SERVICE_CALLBACK_TIMEOUT,
  },
  quotas: quotasOf(env),
  runLeaseMs: env.SERVICE_RUN_LEASE_MS,
  retry: { ...defaultPolicy.retry, delaysMs: env.SERVICE_WEBHOOK_RETRY_SCHEDULE },
  webhookHealth: {
    ...defaultPolicy.webhookHealth,
    disableAfterMs: env.SERVICE_WEBHOOK_DISABLE_AFTER,
  },
  deliver: {
    ...defaultPolicy.deliver,
    deadlineMs: env.SERVICE_DELIVERY_TIMEOUT_MS,
    leaseMs: env.SERVICE_DELIVERY_LEASE_MS,
    maxConcurrency: env.SERVICE_WEBHOOK_MAX_CONCURRENCY,
    requestsPerSecond: env.SERVICE_WEBHOOK_REQUESTS_PER_SECOND,
  },
  retention: {
    deliveriesMs: env.SERVICE_DELIVERY_RETENTION,
    messagesMs: env.SERVICE_MESSAGE_RETENTION,
    eventsMs: env.SERVICE_EVENT_RETENTION,
  },
  headerPrefix: env.SERVICE_HEADER_PREFIX,
})

function quotasOf(env: Environment): QuotaPolicy | undefined {
  if (env.SERVICE_QUOTAS === 'off') return undefined
  const perMinute = (messages: number | undefined) =>
    messages === undefined ? undefined : { messagesPerMinute: messages, burst: messages }
  const events = env.SERVICE_PROJECT_EVENTS_PER_MINUTE
  return {
    project: perMinute(env.SERVICE_PROJECT_MESSAGES_PER_MINUTE),
    key: perMinute(env.SERVICE_KEY_MESSAGES_PER_MINUTE),
    events: events === undefined ? undefined : { eventsPerMinute: events, burst: events },
  }
}

/** Such as `process.env`. */
export type Variables = Readonly<Record<string, string | undefined>>

/**
 * Returns the settings. Throws an `OperatorError` with one line for each wrong variable. `options`
 * has the values that options of the command line give to variables.
 */
export const readConfig = (env: Variables, options?: Variables): Config =>
  configIn(parseConfig(env, options))

export function configIn(parsed: Result<Config, string[]>): Config {
  if (parsed.isErr()) throw new OperatorError(parsed.error.join('\n'), 2)
  return parsed.value
}

/** Returns the settings, or one line for each wrong variable. */
export function parseConfig(env: Variables, options: Variables = {}): Result<Config, string[]> {
  const given = setVariables(options)
  const set = { ...setVariables(env), ...given }
  const read = environment.safeParse(set)
  if (!read.success) return err(read.error.issues.map((issue) => problem(issue, set, given)))
  const { SERVICE_DELIVERY_LEASE_MS: lease, SERVICE_DELIVERY_TIMEOUT_MS: timeout } = read.data
  if (lease > timeout) return ok(configOf(read.data))
  return err([
    `SERVICE_DELIVERY_LEASE_MS must exceed SERVICE_DELIVERY_TIMEOUT_MS (${timeout}); got ${lease}`,
  ])
}

/**
 * An empty variable counts as unset. White space around a value is removed, because a secret from a
 * file often ends in a line break.
 */
function setVariables(env: Variables): Variables {
  const trimmed = Object.entries(env).map(([name, text]) => [name, text?.trim()] as const)
  return Object.fromEntries(trimmed.filter(([, text]) => text))
}

function problem(issue: z.core.$ZodIssue, env: Variables, options: Variables) {
  const name = issue.path[0] as VariableName
  const text = env[name] ?? ''
  const { isSecret, option } = variables.get(environment.shape[name]) ?? {}
  const got = isSecret ? `${text.length} characters (not shown)` : quoted(text)
  const why: unknown = issue.code === 'custom' ? issue.params?.['why'] : undefined
  const reason = typeof why === 'string' ? `: ${why}` : ''
  const shownName = name in options ? option : name
  return `${shownName} must be ${allowedValue(name)}; got ${got}${reason}`
}

const MAX_SHOWN = 80

/** The value on one line, without the password of a URL. */
function quoted(text: string) {
  const shown = text.replace(/(:\/{0,2}).*@/s, '$1…@').replace(/(password=)[^&]*/gi, '$1…')
  return JSON.stringify(shown.length > MAX_SHOWN ? `${shown.slice(0, MAX_SHOWN)}…` : shown)
}
