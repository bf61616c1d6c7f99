import { isPermitted, shownStory } from '@org/agent-messaging-core/host'
import { Hono } from 'hono'
import type { Env } from '../env.js'
import type { HttpDeps } from '../options.js'
import { refIn, eventRef } from '../path-id.js'
import { routesOf, shown } from '../route.js'
import { storySchema } from '../wire/story.js'

/** Says why a message, an event or a delivery is where it is. */
export const storyRoutes = (d: HttpDeps) => {
  const { deliveries, events, messages } = d.service
  const answer = shown('The story', storySchema, shownStory)
  const ofMessage = routesOf(d, { tag: 'Messages' })
  const ofEvent = routesOf(d, { tag: 'Events' })
  const ofDelivery = routesOf(d, { tag: 'Deliveries' })
  return new Hono<Env>()
    .get(
      '/v1/messages/:id/story',
      ofMessage(
        {
          operationId: 'getMessageStory',
          call: 'messages.story',
          summary: 'Read why a message has no answer, or which receivers do not have it',
          description: 'The part about receivers needs `project:webhooks` or `project:read`.',
          refusals: ['message_not_found'],
          answer,
        },
        (c) =>
          messages.story({
            ...refIn(c, 'messageId'),
            withReceivers: isPermitted(c.get('requester').permissions, 'deliveries.story'),
          }),
      ),
    )
    .get(
      '/v1/events/:id/story',
      ofEvent(
        {
          operationId: 'getEventStory',
          call: 'events.story',
          summary: 'Read why webhooks did not get an event',
          description:
            'Has a sentence for each webhook of the project that does not have the event: it does not ' +
            'subscribe to the event, its filter does not match, it was created later, or its delivery ' +
            'failed or waits.',
          refusals: ['event_not_found'],
          answer,
        },
        (c) => events.story(eventRef(c)),
      ),
    )
    .get(
      '/v1/deliveries/:id/story',
      ofDelivery(
        {
          operationId: 'getDeliveryStory',
          call: 'deliveries.story',
          summary: 'Read why a receiver does not have a delivery',
          refusals: ['delivery_not_found'],
          answer,
        },
        (c) => deliveries.story(refIn(c, 'deliveryId')),
      ),
    )
}
