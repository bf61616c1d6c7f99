import { expect, it } from 'vitest'
import { a2aProblem } from './a2a-card.js'

const skill = { id: 'orders', name: 'Orders', description: 'Finds orders', tags: ['orders'] }

it.each<[setting: unknown]>([
  [{ enabled: false }],
  [{ enabled: true, description: 'Answers questions' }],
  [{ enabled: true, skills: [] }],
  [{ enabled: true, skills: [skill, { ...skill, examples: ['Where is order 7?'] }] }],
])('%j is valid', (setting) => {
  expect(a2aProblem(setting)).toBeUndefined()
})

it.each<[setting: unknown, problem: string]>([
  ['on', 'must be an object'],
  [{}, 'needs the field enabled, which is true or false'],
  [
    { enabled: true, url: 'x' },
    'has unknown fields: url. Known fields: enabled, description, skills',
  ],
  [{ enabled: true, description: '' }, 'has a description that must be a non-empty string'],
  [{ enabled: true, skills: {} }, 'has skills that are not a list'],
  [
    { enabled: true, skills: Array.from({ length: 51 }, () => skill) },
    'must have at most 50 skills',
  ],
  [{ enabled: true, skills: ['chat'] }, 'has a skill (number 1) that must be an object'],
  [
    { enabled: true, skills: [skill, { ...skill, name: undefined }] },
    'has a skill (number 2) that has the field name, which is required',
  ],
  [
    { enabled: true, skills: [{ ...skill, tags: [7] }] },
    'has a skill (number 1) that needs tags: a list of at most 50 texts',
  ],
  [
    { enabled: true, skills: [{ ...skill, examples: 'x' }] },
    'has a skill (number 1) that has examples that are not at most 50 texts',
  ],
  [
    { enabled: true, skills: [{ ...skill, price: 1 }] },
    'has a skill (number 1) that has unknown fields: price. Known fields: id, name, description, tags, examples',
  ],
])('%j: %s', (setting, problem) => {
  expect(a2aProblem(setting)).toBe(problem)
})
