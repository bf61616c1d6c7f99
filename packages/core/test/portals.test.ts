import { describe, expect, it } from 'vitest'
import { defaultLimits } from '@org/agent-messaging-core'
import { scene } from './scene.js'

describe('a portal session', () => {
  it('is refused for an unknown project, and beyond the limit of the project', async () => {
    const policy = { limits: { ...defaultLimits, portalsPerProject: 1 } }
    const { service, project } = await scene({ policy })
    const unknown = await service.portals.create({ projectId: 'unknown' })
    expect(unknown._unsafeUnwrapErr()).toEqual({ kind: 'project_not_found' })
    expect((await service.portals.create({ projectId: project.id })).isOk()).toBe(true)
    const second = await service.portals.create({ projectId: project.id })
    expect(second._unsafeUnwrapErr()).toEqual({ kind: 'too_many_portals' })
  })
})
