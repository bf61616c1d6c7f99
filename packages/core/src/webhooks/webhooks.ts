import type { Webhook } from '../domain/webhooks/webhook.js'
import type { WebhookLimit } from '../domain/webhooks/webhook-limit.js'
import type { Maintenance } from '../maintenance/maintenance.js'
import type { Platform } from '../platform.js'
import { DeliverySender } from './delivery-sender.js'
import { EventListeners } from './event-listeners.js'
import { deleteEventType, getEventType, listEventTypes, putEventType } from './event-types.js'
import { EventReaders } from './event-readers.js'
import { cancelDelivery, getDelivery, listDeliveries, redeliver } from './manage-deliveries.js'
import {
  createWebhook,
  deleteWebhook,
  disableWebhook,
  enableWebhook,
  finishRotation,
  listWebhooks,
  readWebhook,
  rotateSecret,
  sendTestEvent,
  updateWebhook,
} from './manage-webhooks.js'

import { decideRecovery, getRecovery, listRecoveries, startRecovery } from './recoveries.js'
import { createRecoveryRunner } from './recovery-runner.js'

import { getEvent, listEvents, readEvents } from './read-events.js'
import { readDeliveryStory, readEventStory } from './read-receivers.js'

export type Webhooks = ReturnType<typeof createWebhooks>

/** Webhooks and their deliveries: the calls of the service, and the sender behind them. */
export function createWebhooks(platform: Platform, maintenance: Maintenance) {
  const { shared } = platform
  const deliverySender = new DeliverySender(platform)
  const recoveryRunner = createRecoveryRunner(platform, deliverySender)
  const context = { ...platform, maintenance, deliverySender, recoveryRunner }
  const eventReaders = new EventReaders(platform)
  const read = readEvents({ ...platform, eventReaders })
  const eventListeners = new EventListeners(platform, read)
  return {
    deliverySender,
    eventReaders,
    eventListeners,
    events: {
      read,
      get: shared(getEvent(context)),
      list: shared(listEvents(context)),
      story: shared(readEventStory(context)),
      on: eventListeners.on,
    },
    recoveryRunner,
    webhooks: {
      create: createWebhook(context),
      update: updateWebhook(context),
      enable: enableWebhook(context),
      disable: disableWebhook(context),
      delete: deleteWebhook(context),
      rotateSecret: rotateSecret(context),
      finishRotation: finishRotation(context),
      get: shared(readWebhook(context)),
      list: shared(listWebhooks(context)),
      sendTestEvent: sendTestEvent(context),
    },
    eventTypes: {
      put: putEventType(context),
      delete: deleteEventType(context),
      get: shared(getEventType(context)),
      list: shared(listEventTypes(context)),
    },
    deliveries: {
      get: shared(getDelivery(context)),
      story: shared(readDeliveryStory(context)),
      list: shared(listDeliveries(context)),
      redeliver: redeliver(context),
      cancel: cancelDelivery(context, 'operator'),
      skip: cancelDelivery(context, 'skipped'),
    },
    recoveries: {
      start: startRecovery(context),
      cancel: decideRecovery(context, 'cancel', 'recovery_final'),
      continue: decideRecovery(context, 'continue', 'recovery_not_paused'),
      get: shared(getRecovery(context)),
      list: shared(listRecoveries(context)),
    },
    host: {
      advanceRecovery: recoveryRunner.advance,
      limitOf: (webhook: Webhook): WebhookLimit => deliverySender.receivers.limitOf(webhook),
    },
  }
}
