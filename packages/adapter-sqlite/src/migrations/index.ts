import { initial } from './0001-initial.js'
import { webhookHealth } from './0002-webhook-health.js'
import { retention } from './0003-retention.js'
import { requestHeaders } from './0004-request-headers.js'
import { sessions } from './0005-sessions.js'
import { agentFailures } from './0006-agent-failures.js'
import { agentOwners } from './0007-agent-owners.js'
import { claimedDeliveries } from './0008-claimed-deliveries.js'

/** In order: the n-th one leads from `user_version` n-1 to n. What has been released is never changed. */
export const migrations: readonly string[] = [
  initial,
  webhookHealth,
  retention,
  requestHeaders,
  sessions,
  agentFailures,
  agentOwners,
  claimedDeliveries,
]
