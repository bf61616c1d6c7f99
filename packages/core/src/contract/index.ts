import { describe } from 'vitest'
import { acceptSuite } from './accept.js'
import { activitySuite } from './activity.js'
import { agentsSuite } from './agents.js'
import { attemptsSuite } from './attempts.js'
import { auditSuite } from './audit.js'
import { backlogSuite } from './backlog.js'
import { cancelSuite } from './cancel.js'
import { clockJumpSuite } from './clock-jump.js'
import { claimDueSuite } from './claim-due.js'
import { claimRunnableSuite } from './claim-runnable.js'
import { concurrencySuite } from './concurrency.js'
import { credentialsSuite } from './credentials.js'
import { decisionsSuite } from './decisions.js'
import { deletedWebhooksSuite } from './deleted-webhooks.js'
import { deliveryListsSuite } from './delivery-lists.js'
import { deliveryOrderSuite } from './delivery-order.js'
import { disabledWebhooksSuite } from './disabled-webhooks.js'
import { erasePrincipalSuite } from './erase-principal.js'
import { eventLogSuite } from './event-log.js'
import { fencingSuite } from './fencing.js'
import { inputsSuite } from './inputs.js'
import { idempotencySuite } from './idempotency.js'
import { instancesSuite } from './instances.js'
import { isolationSuite } from './isolation.js'
import { leasesSuite } from './leases.js'
import { messageMetadataSuite } from './message-metadata.js'
import { messageHooksSuite } from './message-hooks.js'
import { modelSuite } from './model-check.js'
import { ownersSuite } from './owners.js'
import { orderModelSuite } from './order-model.js'
import { outboxSuite } from './outbox.js'
import { pagingSuite } from './paging.js'
import { portalsSuite } from './portals.js'
import { readingSuite } from './reading.js'
import { recoveriesSuite } from './recoveries.js'
import { searchSuite } from './search.js'
import { redeliverySuite } from './redelivery.js'
import { releasedClaimsSuite } from './released-claims.js'
import { deliveryRetentionSuite, messageRetentionSuite } from './retention.js'
import { resealSuite } from './reseal.js'
import { retrySuite } from './retry.js'
import { sendLimitsSuite } from './send-limits.js'
import { sessionOrderSuite } from './session-order.js'
import { sessionPastSuite } from './session-past.js'
import { sessionsSuite } from './sessions.js'
import { storageTest, type OpenStorage, type StorageTest } from './storage-test.js'
import { subscriptionsSuite } from './subscriptions.js'
import { usageSuite } from './usage.js'
import { webhookHealthSuite } from './webhook-health.js'
import { webhooksSuite } from './webhooks.js'

export type { OpenStorage, StorageUnderTest } from './storage-test.js'
export type { ChunkRelaysUnderTest } from './chunk-relay.js'
export { describeChunkRelayContract } from './chunk-relay.js'
export type { WorkSignalsUnderTest } from './work-signal.js'
export { describeWorkSignalContract } from './work-signal.js'

type Suites = Readonly<Record<string, (it: StorageTest) => void>>

const suites = {
  messages: {
    'accepting messages': acceptSuite,
    'idempotency keys': idempotencySuite,
    'claiming runs': claimRunnableSuite,
    'order within a session': sessionOrderSuite,
    'tokens that fence': fencingSuite,
    'leases and deferrals': leasesSuite,
    'cancelling messages': cancelSuite,
    'questions to people': inputsSuite,
    'retrying messages': retrySuite,
    'metadata of messages': messageMetadataSuite,
    sessions: sessionsSuite,
    'erasing an end user': erasePrincipalSuite,
    'the history of a session': sessionPastSuite,
    'reading messages': readingSuite,
    searches: searchSuite,
    'retention of messages': messageRetentionSuite,
    'sessions beside a model of them': modelSuite,
  },
  deliveries: {
    'the outbox': outboxSuite,
    'the log of events': eventLogSuite,
    'the receivers of an event': subscriptionsSuite,
    'hooks of messages': messageHooksSuite,
    'claiming deliveries': claimDueSuite,
    'claims of deliveries that are given up': releasedClaimsSuite,
    'recording attempts': attemptsSuite,
    'the health of webhooks': webhookHealthSuite,
    'the order of deliveries': deliveryOrderSuite,
    'ordered deliveries after random steps': orderModelSuite,
    'lists of deliveries': deliveryListsSuite,
    'redelivery and cancellation': redeliverySuite,
    recoveries: recoveriesSuite,
    'deliveries of deleted webhooks': deletedWebhooksSuite,
    'deliveries of disabled webhooks': disabledWebhooksSuite,
    'retention of deliveries': deliveryRetentionSuite,
  },
  service: {
    'the backlog': backlogSuite,
    'recent activity': activitySuite,
    usage: usageSuite,
    'limits of sends': sendLimitsSuite,
    agents: agentsSuite,
    'agents that one process owns': ownersSuite,
    webhooks: webhooksSuite,
    'projects, API keys and settings': credentialsSuite,
    'sessions of customers': portalsSuite,
    'the audit log': auditSuite,
    'resealed secrets': resealSuite,
    'isolation of projects': isolationSuite,
    pages: pagingSuite,
    'jumps of the clock': clockJumpSuite,
    instances: instancesSuite,
    'decisions of the domain': decisionsSuite,
    'everything at once': concurrencySuite,
  },
} satisfies Record<string, Suites>

export type ContractSubject = keyof typeof suites
const subjects = Object.keys(suites) as ContractSubject[]

/**
 * Registers the storage contract as vitest tests. Call it at the top of a test file. `open`
 * returns an empty storage for each test. `of` selects the subjects, for example if each has a file
 * of its own. All times are arguments, so no test waits. G1 to G6 in a title is a guarantee of
 * ARCHITECTURE.md.
 */
export function describeStorageContract(
  name: string,
  open: OpenStorage,
  of: readonly ContractSubject[] = subjects,
): void {
  const it = storageTest(open)
  describe(`${name} keeps the storage contract`, () => {
    for (const subject of of)
      for (const [title, suite] of Object.entries<Suites[string]>(suites[subject]))
        // oxlint-disable-next-line vitest/valid-title -- the table above has the titles
        describe(title, () => suite(it))
  })
}
