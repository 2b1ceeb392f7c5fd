/** The next state, and what the shell does then, in this order. */
export type Step<State, Effect> = readonly [next: State, ...effects: Effect[]];

/** What each event does in one state. An event without a row changes nothing. */
export type Rows<State, Event extends { readonly type: string }, Next, Effect> = {
  readonly [Type in Event['type']]?: (state: State, event: Extract<Event, { type: Type }>) => Step<Next, Effect>;
};

/** How each effect is done, by its name. */
export type Shell<Effect extends { readonly do: string }> = {
  readonly [Do in Effect['do']]: (effect: Extract<Effect, { do: Do }>) => Promise<void> | void;
};
