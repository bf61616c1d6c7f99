import {
  PORTAL_PERMISSIONS,
  portalSettings,
  type CreatedPortal,
  type PortalPermission,
  type PortalSettings,
} from '@org/agent-messaging-core/host'
import { toIso } from '@org/agent-messaging-core/storage'
import { chain, refusal, reply, type Requester } from '@org/agent-messaging-http-kit'
import { Hono } from 'hono'
import { z } from 'zod'
import { listField, requestFields } from '../described.js'
import type { Env } from '../env.js'
import type { HttpDeps } from '../options.js'
import { byActor, refIn, inProject } from '../path-id.js'
import { ownAnswers, routesOf, withoutBody } from '../route.js'
import { creationOf } from '../schemas.js'
import { at, uuid, type BodyOf, named, namedEnum } from '../wire/body.js'

const portalPermissionSchema = namedEnum('PortalPermission', PORTAL_PERMISSIONS)

const described = requestFields<PortalSettings>(portalSettings)
const newPortalLink = creationOf(
  'NewPortalLink',
  {
    ...described,
    permissions: listField(portalSettings.permissions, portalPermissionSchema)
      .optional()
      .meta({ ...described.permissions.meta() }),
  },
  { examples: [{ permissions: ['project:webhooks'], lifetimeSeconds: 3600 }] },
)

const portalLinkSchema = named('PortalLink', {
  id: uuid,
  url: z.string().describe('Opens the portal once. Shown only in this answer.'),
  permissions: z.array(portalPermissionSchema),
  readOnly: z.boolean(),
  title: z.string().optional(),
  returnUrl: z.string().optional(),
  createdAt: at,
  linkExpiresAt: at.describe('The end of the time to open the link.'),
  expiresAt: at.describe('The end of the session.'),
})

const portalLinkBody = (
  { session, code }: CreatedPortal,
  page: string,
): BodyOf<typeof portalLinkSchema> => ({
  id: session.id,
  url: `${page}?code=${code}`,
  permissions: session.permissions,
  readOnly: session.isReadOnly,
  title: session.title,
  returnUrl: session.returnUrl,
  createdAt: toIso(session.createdAt),
  linkExpiresAt: toIso(session.linkUntil),
  expiresAt: toIso(session.until),
})

/** Portal links for the customer whose project this is. */
export const portalRoutes = (d: HttpDeps) => {
  const { portals } = d.service
  const route = routesOf(d, { tag: 'Portal' })
  return new Hono<Env>()
    .post(
      '/v1/portal-links',
      route(
        {
          operationId: 'createPortalLink',
          call: 'portals.create',
          summary: 'Create a link that opens the portal for a customer, once',
          body: newPortalLink,
          refusals: ['forbidden', 'portal_off', 'project_not_found', 'too_many_portals'],
          answer: ownAnswers({
            201: { description: 'The link, shown only here', body: portalLinkSchema },
          }),
        },
        (c, sent) => {
          const lacked = lackedBy(c.get('requester'), sent.permissions)
          if (lacked) return refusal({ kind: 'forbidden', permissions: [lacked] })
          const page = d.portal?.pageUrl()
          if (!d.portal || page === undefined) return refusal({ kind: 'portal_off' })
          if (!isAllowed(sent.returnUrl, d.portal.returnOrigins))
            return refusal({ kind: 'invalid', issues: [NOT_ALLOWED] })
          const creating = portals.create(byActor(c, inProject(c, sent)))
          return chain(creating, (created) => reply(c, 201, portalLinkBody(created, page)))
        },
      ),
    )
    .delete(
      '/v1/portal-links/:id',
      route(
        {
          operationId: 'endPortalSession',
          call: 'portals.end',
          summary: 'End a portal session, or make its link unusable',
          refusals: ['portal_not_found'],
          answer: withoutBody('The session has ended'),
        },
        (c) => portals.end(byActor(c, refIn(c, 'portalId'))),
      ),
    )
}

/**
 * Returns a permission of the link that the caller lacks. `project:portals` includes
 * `project:webhooks`. An admin of a project can give all: it makes keys with any permission. A
 * platform key makes no keys.
 */
const lackedBy = (
  { permissions, actor }: Requester,
  given: readonly PortalPermission[] = [],
): PortalPermission | undefined =>
  actor.kind !== 'platform' && permissions.includes('project:admin')
    ? undefined
    : given.find((one) => one !== 'project:webhooks' && !permissions.includes(one))

const NOT_ALLOWED = {
  path: 'returnUrl',
  message: 'must have an origin that SERVICE_PORTAL_RETURN_ORIGINS lists',
}

/** Core refuses a text that is not a URL. */
const isAllowed = (url: string | undefined, origins: readonly string[]): boolean =>
  url === undefined || !URL.canParse(url) || origins.includes(new URL(url).origin)
