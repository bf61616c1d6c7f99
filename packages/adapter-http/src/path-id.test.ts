import { expect, it } from 'vitest'
import { agentIn, idIn, textIn } from './path-id.js'

const ID = '0198c2f4-7a3b-7cde-8f01-23456789abcd'
const NOBODY = '00000000-0000-0000-0000-000000000000'

it('an id is lowercased, and an illegal id becomes an unused one', () => {
  expect([ID, ID.toUpperCase(), `${ID}0`, 'x', '', '\0'].map(idIn)).toEqual([
    ID,
    ID,
    NOBODY,
    NOBODY,
    NOBODY,
    NOBODY,
  ])
})

it('an agent’s name stays as it is', () => {
  expect(['echo', ID.toUpperCase(), 'No Slug', '\0'].map(agentIn)).toEqual([
    'echo',
    ID,
    NOBODY,
    NOBODY,
  ])
})

it('text that no store accepts becomes empty', () => {
  expect(['s 1', '\0', '\ud800'].map(textIn)).toEqual(['s 1', '', ''])
})
