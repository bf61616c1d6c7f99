// Unstable until 1.0: a minor release can change this entry.

import { describe } from 'vitest'
import { acceptSuite } from './messages/accept.js'
import { agentsSuite } from './service/agents.js'
import { attemptsSuite } from './deliveries/attempts.js'
import { auditSuite } from './service/audit.js'
import { backlogSuite } from './service/backlog.js'
import { cancelSuite } from './messages/cancel.js'
import { clockJumpSuite } from './service/clock-jump.js'
import { claimDueSuite } from './deliveries/claim-due.js'
import { claimRunnableSuite } from './messages/claim-runnable.js'
import { concurrencySuite } from './concurrency.js'
import { credentialsSuite } from './service/credentials.js'
import { decisionsSuite } from './service/decisions.js'
import { deletedWebhooksSuite } from './deliveries/deleted-webhooks.js'
import { deliveryListsSuite } from './deliveries/delivery-lists.js'
import { deliveryOrderSuite } from './deliveries/delivery-order.js'
import { disabledWebhooksSuite } from './deliveries/disabled-webhooks.js'
import { erasePrincipalSuite } from './messages/erase-principal.js'
import { eventListenersSuite } from './deliveries/event-listeners.js'
import { eventLogSuite } from './deliveries/event-log.js'
import { fencingSuite } from './messages/fencing.js'
import { inputPartsSuite } from './messages/input-parts.js'
import { inputsSuite } from './messages/inputs.js'
import { idempotencySuite } from './messages/idempotency.js'
import { instancesSuite } from './service/instances.js'
import { isolationSuite } from './service/isolation.js'
import { lastFailuresSuite } from './deliveries/last-failures.js'
import { leasesSuite } from './messages/leases.js'
import { messageMetadataSuite } from './messages/message-metadata.js'
import { messageHooksSuite } from './deliveries/message-hooks.js'
import { modelSuite } from './messages/model-check.js'
import { ownersSuite } from './service/owners.js'
import { orderModelSuite } from './deliveries/order-model.js'
import { outboxSuite } from './deliveries/outbox.js'
import { thinBodiesSuite } from './deliveries/thin-bodies.js'
import { publishedEventsSuite } from './deliveries/published-events.js'
import { pagingSuite } from './service/paging.js'
import { partsSuite } from './messages/parts.js'
import { pastRunsSuite } from './messages/past-runs.js'
import { eventTypesSuite } from './service/event-types.js'
import { portalsSuite } from './service/portals.js'
import { readingSuite } from './messages/reading.js'
import { recoveriesSuite } from './deliveries/recoveries.js'
import { retriedMessagesSuite } from './messages/retried-messages.js'
import { searchSuite } from './messages/search.js'
import { redeliverySuite } from './deliveries/redelivery.js'
import { releasedClaimsSuite } from './deliveries/released-claims.js'
import { deliveryRetentionSuite, messageRetentionSuite } from './retention.js'
import { resealSuite } from './service/reseal.js'
import { retrySuite } from './messages/retry.js'
import { sendLimitsSuite } from './service/send-limits.js'
import { scopesSuite } from './messages/scopes.js'
import { sessionOrderSuite } from './messages/session-order.js'
import { sessionPastSuite } from './messages/session-past.js'
import { sessionsSuite } from './messages/sessions.js'
import { storageTest, type OpenStorage, type StorageTest } from './storage-test.js'
import { subscriptionsSuite } from './deliveries/subscriptions.js'
import { countsSuite } from './service/counts.js'
import { webhookHealthSuite } from './deliveries/webhook-health.js'
import { webhooksSuite } from './service/webhooks.js'

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
    'parts of answers': partsSuite,
    'runs without an answer': pastRunsSuite,
    'retrying messages': retrySuite,
    'metadata of messages': messageMetadataSuite,
    'parts of requests': inputPartsSuite,
    sessions: sessionsSuite,
    'erasing an end user': erasePrincipalSuite,
    'the history of a session': sessionPastSuite,
    'reading messages': readingSuite,
    searches: searchSuite,
    'retried messages': retriedMessagesSuite,
    'scopes of callers': scopesSuite,
    'retention of messages': messageRetentionSuite,
    'sessions beside a model of them': modelSuite,
  },
  deliveries: {
    'the outbox': outboxSuite,
    'thin bodies': thinBodiesSuite,
    'the log of events': eventLogSuite,
    'published events': publishedEventsSuite,
    'listeners of the log': eventListenersSuite,
    'the receivers of an event': subscriptionsSuite,
    'hooks of messages': messageHooksSuite,
    'claiming deliveries': claimDueSuite,
    'claims of deliveries that are given up': releasedClaimsSuite,
    'recording attempts': attemptsSuite,
    'the health of webhooks': webhookHealthSuite,
    'the last failures of webhooks': lastFailuresSuite,
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
    counts: countsSuite,
    'limits of sends': sendLimitsSuite,
    agents: agentsSuite,
    'agents that one process owns': ownersSuite,
    webhooks: webhooksSuite,
    'projects, API keys and settings': credentialsSuite,
    'event types': eventTypesSuite,
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
