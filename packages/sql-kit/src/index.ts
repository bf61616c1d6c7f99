export { agentStore, changeAgentState, findAgent, selectAgent } from './agents.js'
export { auditStore, record } from './audit.js'
export { credentialStore, findKey } from './credentials.js'
export { appendCounts, countsStore, peopleSql } from './counts.js'
export { atMost, type Dialect, type MessageSource } from './dialect.js'
export { deliveryRemovals, finishedDeliveries, principalDeliveries } from './delivery-removals.js'
export {
  erasePrincipalEvents,
  eventPurge,
  lockLogs,
  oldEvents,
  principalEvents,
} from './event-removals.js'
export {
  erasePrincipalMessages,
  finishedMessages,
  messageRemovals,
  principalMessages,
} from './message-removals.js'
export { eventListeners, positionAtSql } from './event-listeners.js'
export {
  eventsOfAgent,
  eventsOfSession,
  newestEvents,
  publishedEvents,
} from './published-events.js'
export { oldestEvents } from './replay.js'
export { askPerson, heldRuns } from './held-runs.js'
export { insertHook, STORED_SINCE } from './hooks.js'
export {
  all,
  one,
  run,
  STATEMENTS,
  type Answer,
  type Operate,
  type Operation,
  type Runner,
  type Sql,
  type Step,
} from './operation.js'
export { cancelDelivery, deliveryEnds } from './delivery-ends.js'
export {
  deliveryList,
  deliveryListSql,
  failuresOf,
  openCounts,
  findDelivery,
  fromDeliveries,
  lastReadSql,
  listDeliveries,
} from './delivery-lists.js'
export { cancelMessage, changeInput, messageChanges, type Changed } from './message-changes.js'
export {
  messageById,
  messageLists,
  askingSql,
  messageListSql,
  selectMessage,
  sessionListSql,
} from './message-lists.js'
export {
  placesSql,
  searchMessages,
  type Look,
  type Place,
  type SearchDialect,
  type Source,
} from './message-search.js'
export { lastMove, lastSeenAt, moveTimes } from './move-times.js'
export { keepParts, readParts } from './message-parts.js'
export { keepRun, readRuns } from './past-runs.js'
export { eventTypeStore, findEventTypes } from './event-types.js'
export { portalStore } from './portals.js'
export { countedRecovery, recoveryStore, unsettledRecoveries } from './recoveries.js'
export { deliveryLists, testedWebhook } from './redelivery.js'
export { failedMessages } from './retried-messages.js'
export { inScope, scopeParameters } from './session-scope.js'
export {
  hookList,
  selectWebhook,
  updateWebhook,
  webhookList,
  type HookRow,
} from './webhook-rows.js'
export { webhookStore } from './webhooks.js'
