import { expect, it } from 'vitest'
import { legalAgentName, requireAgentNames } from './agent-names.js'

it.each([
  ['mySupport_Agent', 'my-support-agent'],
  ['Übersetzer', 'u-bersetzer'],
  ['--x--', 'x'],
  ['日本', 'agent'],
  ['a'.repeat(80), 'a'.repeat(63)],
])('%s becomes the legal name %s', (key, name) => {
  expect(legalAgentName(key)).toBe(name)
})

it('a legal name is accepted, another one is refused with a suggestion', () => {
  expect(() => requireAgentNames(['support', 'a-1'])).not.toThrow()
  expect(() => requireAgentNames(['support', 'Billing'])).toThrow(
    '"Billing" is not a legal agent name; use "billing"',
  )
})
