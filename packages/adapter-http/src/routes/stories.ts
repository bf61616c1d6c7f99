import { shownStory } from '@org/agent-messaging-core/host'
import { Hono } from 'hono'
import { authorize } from '../authorize.js'
import type { Env } from '../env.js'
import type { HttpDeps } from '../options.js'
import { refIn } from '../path-id.js'
import { routesOf, shown } from '../route.js'
import { storySchema } from '../wire/story.js'

/** Says why a message or a delivery is where it is. */
export const storyRoutes = (d: HttpDeps) => {
  const { deliveries, messages } = d.service
  const answer = shown('The story', storySchema, shownStory)
  const ofMessage = routesOf(d, { tag: 'Messages', access: authorize(d, 'project:message') })
  const ofDelivery = routesOf(d, { tag: 'Deliveries', access: authorize(d, 'project:webhooks') })
  return new Hono<Env>()
    .get(
      '/v1/messages/:id/story',
      ofMessage(
        {
          operationId: 'getMessageStory',
          summary: 'Read why a message has no answer, or which receivers do not have it',
          description: 'The part about receivers needs `project:webhooks` too.',
          refusals: ['message_not_found'],
          answer,
        },
        (c) =>
          messages.story({
            ...refIn(c, 'messageId'),
            withReceivers: c.get('requester').permissions.includes('project:webhooks'),
          }),
      ),
    )
    .get(
      '/v1/deliveries/:id/story',
      ofDelivery(
        {
          operationId: 'getDeliveryStory',
          summary: 'Read why a receiver does not have a delivery',
          refusals: ['delivery_not_found'],
          answer,
        },
        (c) => deliveries.story(refIn(c, 'deliveryId')),
      ),
    )
}
