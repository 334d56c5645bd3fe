/** An order that the workflow of the demo takes. */

export const input = {
  customer: "Ada",
  amount: 42,
  items: ["lamp", "desk"],
  address: { street: "1 Rose St", city: "London" },
};
