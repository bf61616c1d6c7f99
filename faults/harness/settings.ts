import type { Rules } from '../checker/history.js'

/** Short times, so that a fault costs seconds, but long enough for a busy machine. */
export const rules: Rules = {
  delaysMs: [1_000, 1_000, ...Array.from({ length: 46 }, () => 2_000)],
  deliveryTimeoutMs: 1_500,
  deliveryLeaseMs: 5_000,
  runLeaseMs: 5_000,
}

export const API_KEY = 'an-api-key-for-the-fault-harness'
export const CRON_SECRET = 'a-cron-secret-for-the-fault-harness'

export const environment = {
  SERVICE_MASTER_KEY: Buffer.alloc(32, 1).toString('base64'),
  SERVICE_BOOTSTRAP_API_KEY: API_KEY,
  CRON_SECRET,
  SERVICE_WEBHOOK_ALLOWED_CIDRS: '127.0.0.0/8',
  SERVICE_RUN_LEASE_MS: String(rules.runLeaseMs),
  SERVICE_DELIVERY_TIMEOUT_MS: String(rules.deliveryTimeoutMs),
  SERVICE_DELIVERY_LEASE_MS: String(rules.deliveryLeaseMs),
  SERVICE_WEBHOOK_RETRY_SCHEDULE: rules.delaysMs.map((ms) => `${ms}ms`).join(','),
  SERVICE_SYNC_MESSAGE_TIMEOUT_MS: '3000',
  SERVICE_CALLBACK_TIMEOUT: '20s',
  SERVICE_SHUTDOWN_GRACE_MS: '2000',
  SERVICE_CRON_BUDGET_MS: '1000',
  SERVICE_LOG_LEVEL: 'error',
}
