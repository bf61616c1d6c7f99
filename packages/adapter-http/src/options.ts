import type { MessagingService } from '@org/agent-messaging-core'
import type { Crypto } from '@org/agent-messaging-core/runtime'
import type { ErrorCode } from './wire/error.js'

export type HttpOptions = {
  readonly service: MessagingService
  readonly crypto: Pick<Crypto, 'equal'>
  /** Names a request whose caller did not; must not repeat. */
  readonly newRequestId: () => string
  /** Opens the cron route. Without one it stays shut and answers as it does to a wrong one. */
  readonly cronSecret?: string | undefined
  /** Opens `/metrics`, to everybody if there is no `token`. The text is the host's. */
  readonly metrics?:
    | { readonly read: () => Promise<MetricsText>; readonly token?: string | undefined }
    | undefined
  /** How long one pass of the cron route may take. */
  readonly cronBudgetMs?: number | undefined
  /** Of every request body but a runtime's answer. */
  readonly maxBodyBytes?: number | undefined
  /** Of a runtime's late answer. */
  readonly maxAnswerBytes?: number | undefined
  /** Hears of what was thrown and must not have been; the caller gets a 500 with the same request id. */
  readonly onError?: ((error: unknown, requestId: string) => void) | undefined
  /** Called once for each request, when its answer is ready. */
  readonly onRequest?: ((facts: RequestFacts) => void) | undefined
  /** Milliseconds for `durationMs`, from any origin. */
  readonly now?: (() => number) | undefined
}

export type MetricsText = { readonly contentType: string; readonly text: string }

/** What a log line or a metric of one request is made of. `route` is the pattern, not the path; empty when none matched. */
export type RequestFacts = {
  readonly method: string
  readonly route: string
  readonly status: number
  readonly durationMs: number
  readonly requestId: string
  /** Absent when the request was refused before its key was known. */
  readonly projectId?: string
  readonly errorCode?: ErrorCode
  /** Why the storage is away. For the operator: the caller is not told. */
  readonly reason?: string
}

const KIB = 1024

const defaults = {
  cronBudgetMs: 10_000,
  // JSON may spend six bytes on a character: the longest message with the longest metadata, and the longest answer, fit however they are written.
  maxBodyBytes: 512 * KIB,
  maxAnswerBytes: 6 * KIB * KIB + 64 * KIB,
  now: () => performance.now(),
}

export type HttpDeps = HttpOptions & { readonly [K in keyof typeof defaults]: (typeof defaults)[K] }

export const withDefaults = (options: HttpOptions): HttpDeps => ({
  ...options,
  cronBudgetMs: options.cronBudgetMs ?? defaults.cronBudgetMs,
  maxBodyBytes: options.maxBodyBytes ?? defaults.maxBodyBytes,
  maxAnswerBytes: options.maxAnswerBytes ?? defaults.maxAnswerBytes,
  now: options.now ?? defaults.now,
})
