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
import { storageTest, type OpenStorage } from './storage-test.js'
import { subscriptionsSuite } from './subscriptions.js'
import { usageSuite } from './usage.js'
import { webhookHealthSuite } from './webhook-health.js'
import { webhooksSuite } from './webhooks.js'

export type { OpenStorage, StorageUnderTest } from './storage-test.js'
export type { ChunkRelaysUnderTest } from './chunk-relay.js'
export { describeChunkRelayContract } from './chunk-relay.js'
export type { WorkSignalsUnderTest } from './work-signal.js'
export { describeWorkSignalContract } from './work-signal.js'

/**
 * Registers the storage contract as vitest tests. Call it at the top of a test file. `open`
 * returns an empty storage for each test, and in `second`, if the adapter can, another instance on
 * the same data. All times are arguments, so no test waits. G1 to G6 in a title is a guarantee of
 * ARCHITECTURE.md.
 */
export function describeStorageContract(name: string, open: OpenStorage): void {
  const it = storageTest(open)
  describe(`${name} keeps the storage contract`, () => {
    describe('accepting messages', () => acceptSuite(it))
    describe('idempotency keys', () => idempotencySuite(it))
    describe('claiming runs', () => claimRunnableSuite(it))
    describe('order within a session', () => sessionOrderSuite(it))
    describe('tokens that fence', () => fencingSuite(it))
    describe('leases and deferrals', () => leasesSuite(it))
    describe('cancelling messages', () => cancelSuite(it))
    describe('questions to people', () => inputsSuite(it))
    describe('retrying messages', () => retrySuite(it))
    describe('sessions', () => sessionsSuite(it))
    describe('erasing an end user', () => erasePrincipalSuite(it))
    describe('the history of a session', () => sessionPastSuite(it))
    describe('reading messages', () => readingSuite(it))
    describe('searches', () => searchSuite(it))
    describe('the outbox', () => outboxSuite(it))
    describe('the log of events', () => eventLogSuite(it))
    describe('the receivers of an event', () => subscriptionsSuite(it))
    describe('hooks of messages', () => messageHooksSuite(it))
    describe('claiming deliveries', () => claimDueSuite(it))
    describe('claims of deliveries that are given up', () => releasedClaimsSuite(it))
    describe('recording attempts', () => attemptsSuite(it))
    describe('the health of webhooks', () => webhookHealthSuite(it))
    describe('the order of deliveries', () => deliveryOrderSuite(it))
    describe('ordered deliveries after random steps', () => orderModelSuite(it))
    describe('lists of deliveries', () => deliveryListsSuite(it))
    describe('redelivery and cancellation', () => redeliverySuite(it))
    describe('recoveries', () => recoveriesSuite(it))
    describe('deliveries of deleted webhooks', () => deletedWebhooksSuite(it))
    describe('deliveries of disabled webhooks', () => disabledWebhooksSuite(it))
    describe('retention of deliveries', () => deliveryRetentionSuite(it))
    describe('retention of messages', () => messageRetentionSuite(it))
    describe('the backlog', () => backlogSuite(it))
    describe('recent activity', () => activitySuite(it))
    describe('usage', () => usageSuite(it))
    describe('limits of sends', () => sendLimitsSuite(it))
    describe('agents', () => agentsSuite(it))
    describe('agents that one process owns', () => ownersSuite(it))
    describe('webhooks', () => webhooksSuite(it))
    describe('projects, API keys and settings', () => credentialsSuite(it))
    describe('sessions of customers', () => portalsSuite(it))
    describe('the audit log', () => auditSuite(it))
    describe('resealed secrets', () => resealSuite(it))
    describe('isolation of projects', () => isolationSuite(it))
    describe('pages', () => pagingSuite(it))
    describe('jumps of the clock', () => clockJumpSuite(it))
    describe('instances', () => instancesSuite(it))
    describe('sessions beside a model of them', () => modelSuite(it))
    describe('decisions of the domain', () => decisionsSuite(it))
    describe('everything at once', () => concurrencySuite(it))
  })
}
