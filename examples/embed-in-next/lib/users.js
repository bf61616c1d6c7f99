/** Stands for your login: the id of the user who sends these cookies. */
export const userOf = (cookie) => USERS.get(cookie ?? '')

const USERS = new Map([
  ['login=ada-secret', 'ada'],
  ['login=bob-secret', 'bob'],
])
