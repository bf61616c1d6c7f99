import { success, defaultLimits } from '@org/agent-messaging-core/runtime'
import { refusalOf } from '@org/agent-messaging-testing'
import { describe, expect, it } from 'vitest'
import { scene } from './scene.js'

describe('a portal session', () => {
  it('is refused for an unknown project, and beyond the limit of the project', async () => {
    const policy = { limits: { ...defaultLimits, portalsPerProject: 1 } }
    const { service, project } = await scene({ policy })
    const unknown = await refusalOf(service.portals.create({ projectId: 'unknown' }))
    expect(unknown).toEqual({ kind: 'project_not_found' })
    await service.portals.create({ projectId: project.id })
    const second = await refusalOf(service.portals.create({ projectId: project.id }))
    expect(second).toEqual({ kind: 'too_many_portals' })
    const returnUrl = null as never
    const wrong = await refusalOf(service.portals.create({ projectId: project.id, returnUrl }))
    expect(wrong).toMatchObject({ kind: 'invalid', issues: [{ path: 'returnUrl' }] })
  })

  it('keeps its link usable while the link is read, until the session is opened', async () => {
    const { service, project } = await scene()
    const { findPortalLink, openPortal } = service.host
    const { code, session } = await service.portals.create({ projectId: project.id })
    expect(await refusalOf(findPortalLink({ code: 'unknown' }))).toEqual({
      kind: 'portal_not_found',
    })
    expect(await findPortalLink({ code })).toEqual({ session, isUsable: true })
    const opened = await openPortal({ code })
    expect(await findPortalLink({ code })).toEqual({ session: opened, isUsable: false })
  })
})

describe('reads by a link or a code', () => {
  const code = (n: number): string => `${n}`.padStart(64, '0')
  const messageId = '0198b2c4-6f0e-7a1b-8c2d-3e4f5a6b7c8d'

  /** A scene whose reads by link or code end only when the test says so. */
  async function slowScene() {
    const s = await scene()
    const ends: (() => void)[] = []
    const held = () => {
      const end = new Promise<void>((resolve) => ends.push(resolve))
      return end.then(() => success(undefined))
    }
    Object.assign(s.storage.portals, { open: held, findByDigest: held })
    Object.assign(s.storage.messages, { getHeld: held })
    return { ...s, ends }
  }

  it('run at most eight at once, and the others wait', async () => {
    const { service, clock, ends } = await slowScene()
    const reads = Array.from({ length: 20 }, (_, n) =>
      refusalOf(
        n % 2
          ? service.host.readByLink({ messageId, token: code(n) })
          : service.host[n % 4 ? 'openPortal' : 'findPortalLink']({ code: code(n) }),
      ),
    )
    await clock.advance(0)
    expect(ends).toHaveLength(8)
    for (let n = 0; n < 20; n++) {
      ends[n]?.()
      await clock.advance(0)
    }
    const kinds = (await Promise.all(reads)).map(({ kind }) => kind)
    expect(new Set(kinds)).toEqual(new Set(['portal_not_found', 'input_not_found']))
  })

  it('are refused if they wait for five seconds, or if a thousand wait', async () => {
    const { service, clock } = await slowScene()
    const reads = Array.from({ length: 1_009 }, (_, n) =>
      refusalOf(service.host.openPortal({ code: code(n) })),
    )
    await clock.advance(0)
    expect((await reads[1_008])?.kind).toBe('unavailable')
    await clock.advance(5_000)
    expect((await reads[8])?.kind).toBe('unavailable')
  })

  it('do not take place if the text cannot be one of ours', async () => {
    const { service, clock, ends } = await slowScene()
    const token = code(1)
    const links = [
      { messageId: '\0', token },
      { messageId: 'x', token },
      { messageId, token: '\0' },
      { messageId, token: token.slice(1) },
      { messageId, token: `${token}0` },
      { messageId, token: token.replace('1', 'G') },
    ]
    for (const link of links) {
      const found = await refusalOf(service.host.readByLink(link))
      expect(found).toEqual({ kind: 'input_not_found' })
      if (link.messageId !== messageId) continue
      for (const read of [service.host.openPortal, service.host.findPortalLink])
        expect(await refusalOf(read({ code: link.token }))).toEqual({ kind: 'portal_not_found' })
    }
    await clock.advance(0)
    expect(ends).toEqual([])
  })
})
